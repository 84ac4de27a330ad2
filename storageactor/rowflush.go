package storageactor

import (
	"runtime"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/telemetry"
)

// rowFlush is the RowFlush actor: it stores what a segment left in its buffer, while the worker
// builds on into another one.
type rowFlush struct {
	cfg  *Config
	hold *hold
	show func(telemetry.Job)
}

// Receive implements actor.Actor.
func (f *rowFlush) Receive(c actor.Context) {
	if f.cfg.onMessage != nil {
		f.cfg.onMessage(c.Message())
	}
	switch m := c.Message().(type) {
	case *messages.Confirm:
		c.Send(m.ReplyTo, &messages.Confirmed{Token: m.Token})
	case *messages.FlushRows:
		f.flushRows(c, m)
	}
}

func (f *rowFlush) flushRows(c actor.Context, m *messages.FlushRows) {
	clock := f.cfg.System.Clock()
	_, span := f.cfg.Tracer.Start(actors.Ctx(c), telemetry.SpanStorageFlush)
	out := &messages.RowsFlushed{Segment: m.Segment}
	out.Times.Started = clock.Now()
	runtime.LockOSThread()
	cpu := threadCPU()
	func() {
		defer runtime.UnlockOSThread()
		f.flush(m, out)
		out.Times.CPU = threadCPU() - cpu
	}()
	out.Times.Ended = clock.Now()
	span.SetAttributes(attribute.Int64(telemetry.AttrBytes, out.Bytes))
	if out.Err != nil {
		span.SetStatus(codes.Error, out.Err.Error())
	}
	span.End()
	f.hold.instruments.flushed(out)
	f.show(telemetry.Job{
		At: out.Times.Started, Took: out.Times.Ended.Sub(out.Times.Started).Seconds(), Kind: "flush",
		Items: len(m.Roots),
	})
	c.Send(m.ReplyTo, out)
}

func (f *rowFlush) flush(m *messages.FlushRows, out *messages.RowsFlushed) {
	rows := f.hold.rows[m.Buffer]
	for _, r := range m.Roots {
		rows.SetStorageRoot(r.Account, r.Root)
	}
	for _, o := range m.Orphans {
		rows.DropStorage(o.Account)
	}
	stats, err := rows.Flush(m.Done...)
	if err != nil {
		rows.Discard()
		out.Err = err
		return
	}
	out.Bytes, out.Tables = int64(stats.Bytes), stats.Tables
}
