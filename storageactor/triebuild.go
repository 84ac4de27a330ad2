package storageactor

import (
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/telemetry"
)

// trieBuild is the TrieBuild actor: one job a message. Between jobs it keeps its view of the flat
// rows, its trie builder and its iterator, and nothing that a restart would miss.
type trieBuild struct {
	cfg     *Config
	slot    int
	hold    *hold
	builder *builder
	sent    time.Time // the answer before
	show    func(telemetry.Job)

	cpu  time.Duration // of the job's slices before
	from time.Duration // where the slice began, in processor time of the thread
}

// Receive implements actor.Actor.
func (t *trieBuild) Receive(c actor.Context) {
	if t.cfg.onMessage != nil {
		t.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *actor.Restarting, *actor.Stopping:
		t.builder.closeReader()
	case *messages.Confirm:
		c.Send(m.ReplyTo, &messages.Confirmed{Token: m.Token})
	case *messages.BuildTries:
		t.buildTries(c, m)
	case *messages.SurveyTrie:
		t.surveyTrie(c, m)
	case *messages.JoinTrie:
		t.joinTrie(c, m)
	case *messages.WriteRows:
		t.writeRows(c, m)
	}
}

func (t *trieBuild) buildTries(c actor.Context, m *messages.BuildTries) {
	rows := t.hold.rows[m.Buffer]
	out := &messages.TriesBuilt{Job: m.Job}
	out.Times = t.measure(func() {
		out.Outcomes = t.builder.build(m, rows)
		out.Buffered = rows.Buffered()
	})
	t.hold.instruments.built(out.Outcomes)
	t.answer(c, m.ReplyTo, out, m.Kind.String(), m.Follows, out.Times, out.Outcomes)
}

func (t *trieBuild) surveyTrie(c actor.Context, m *messages.SurveyTrie) {
	var out *messages.TrieSurveyed
	times := t.measure(func() {
		var err error
		out, err = t.builder.survey(m)
		out.Err = err
	})
	out.Times = times
	t.answer(c, m.ReplyTo, out, "survey", m.Follows, times, nil)
}

func (t *trieBuild) joinTrie(c actor.Context, m *messages.JoinTrie) {
	rows := t.hold.rows[m.Buffer]
	out := &messages.TriesBuilt{Job: m.Job}
	out.Times = t.measure(func() {
		out.Outcomes = []messages.TrieOutcome{t.builder.join(m, rows)}
		out.Buffered = rows.Buffered()
	})
	t.hold.instruments.built(out.Outcomes)
	t.answer(c, m.ReplyTo, out, "join", m.Follows, out.Times, out.Outcomes)
}

func (t *trieBuild) writeRows(c actor.Context, m *messages.WriteRows) {
	rows := t.hold.rows[m.Buffer]
	out := &messages.RowsWritten{Job: m.Job}
	out.Times = t.begin()
	if out.Err = rows.Write(m.Done...); out.Err != nil {
		rows.Discard()
	}
	out.Times.Ended = t.cfg.System.Clock().Now()
	t.answer(c, m.ReplyTo, out, "write", m.Follows, out.Times, nil)
}

// measure times a job and the time since the one before. Through each slice of it the goroutine
// stays on one thread, whose processor time it takes.
func (t *trieBuild) measure(job func()) (times messages.JobTimes) {
	times = t.begin()
	t.cpu = 0
	t.beginSlice()
	defer runtime.UnlockOSThread()
	job()
	times.CPU = t.cpu + threadCPU() - t.from
	times.Ended = t.cfg.System.Clock().Now()
	return times
}

func (t *trieBuild) begin() (times messages.JobTimes) {
	times.Started = t.cfg.System.Clock().Now()
	if !t.sent.IsZero() {
		times.Idle = times.Started.Sub(t.sent)
	}
	return times
}

func (t *trieBuild) beginSlice() {
	runtime.LockOSThread()
	t.from = threadCPU()
}

// yield lets others have the core. A goroutine that does not is left in peace for 10 ms, and where
// workers have all the cores that is what the StorageActor would wait for each time: long enough
// for a worker to be through with all the small jobs that lie with it.
func (t *trieBuild) yield() {
	t.cpu += threadCPU() - t.from
	runtime.UnlockOSThread()
	runtime.Gosched()
	t.beginSlice()
}

// answer sends a job's result, in the job's span. The worker is idle from then on.
func (t *trieBuild) answer(c actor.Context, to *actor.PID, m any, kind string, follows bool,
	times messages.JobTimes, outcomes []messages.TrieOutcome) {
	ctx, span := t.cfg.Tracer.Start(actors.Ctx(c), telemetry.SpanStorageSlot,
		trace.WithTimestamp(times.Started))
	if span.IsRecording() {
		leaves, rows := 0, 0
		for i := range outcomes {
			leaves, rows = leaves+outcomes[i].Leaves, rows+outcomes[i].Rows
		}
		span.SetAttributes(
			attribute.Int(telemetry.AttrSlot, t.slot), attribute.String(telemetry.AttrKind, kind),
			attribute.Int(telemetry.AttrAccounts, len(outcomes)),
			attribute.Int(telemetry.AttrLeaves, leaves), attribute.Int(telemetry.AttrRows, rows),
			attribute.Float64(telemetry.AttrTurnover, times.Idle.Seconds()))
	}
	span.End(trace.WithTimestamp(times.Ended))
	t.hold.instruments.worked(kind, follows, &times)
	job := telemetry.Job{
		At: times.Started, Took: times.Ended.Sub(times.Started).Seconds(), Kind: kind,
		Items: len(outcomes),
	}
	if follows {
		job.Turn = times.Idle.Seconds()
	} else {
		job.Wait = times.Idle.Seconds()
	}
	t.show(job)
	t.cfg.System.Send(ctx, to, m)
	t.sent = t.cfg.System.Clock().Now()
}
