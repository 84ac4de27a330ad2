package telemetry

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
)

func monitor(t *testing.T) *Monitor {
	t.Helper()
	m, err := NewMonitor(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lagOf applies a block whose executions and root end as given, before its beginning or after it.
func lagOf(t *testing.T, m *Monitor, ends []time.Duration, done bool, root time.Duration) (
	time.Duration, bool) {
	t.Helper()
	hash := common.Hash{byte(root), 1}
	x := m.Executions(hash, 4)
	for w, end := range ends {
		x.slots[w].last.Store(int64(end))
	}
	m.RootReady(hash, x.base.Add(root))
	if done {
		x.Done()
	}
	m.BlockApplied("bulk", &messages.BlockApplied{Hash: hash})
	blocks := m.blocks.read()
	if rec := blocks[len(blocks)-1].record(); rec.Lag != nil {
		return time.Duration(*rec.Lag * float64(time.Second)), true
	}
	return 0, false
}

func TestLagIsFromTheLastEndToTheRoot(t *testing.T) {
	m := monitor(t)
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		ends    []time.Duration
		done    bool
		root    time.Duration
		want    time.Duration
		sampled bool
	}{
		"root last":              {[]time.Duration{5 * ms, 9 * ms, ms}, true, 30 * ms, 21 * ms, true},
		"root first: no lag":     {[]time.Duration{50 * ms, 9 * ms}, true, 30 * ms, 0, true},
		"nothing was reported":   {nil, true, 30 * ms, 0, false},
		"nobody said it is over": {[]time.Duration{5 * ms}, false, 30 * ms, 0, false},
	} {
		got, sampled := lagOf(t, m, c.ends, c.done, c.root)
		if sampled != c.sampled || got.Round(time.Microsecond) != c.want {
			t.Errorf("%s: %v, sampled %v", name, got, sampled)
		}
	}
}

func TestExecutionsThatGoOnGiveTheLagLater(t *testing.T) {
	m := monitor(t)
	x := m.Executions(common.Hash{7}, 2)
	x.End(0)
	if _, known := m.RootReady(common.Hash{7}, time.Now()); known {
		t.Error("the lag is known before the last execution has ended")
	}
	m.BlockApplied("bulk", &messages.BlockApplied{Hash: common.Hash{7}})
	x.End(1)
	x.Done()
	if lag, sampled := x.Lag(); !sampled || lag != 0 {
		t.Errorf("%v, %v: the root came first", lag, sampled)
	}
	if rec := m.blocks.read()[0].record(); rec.Lag == nil || *rec.Lag != 0 {
		t.Errorf("%+v", rec)
	}
}

func TestMeasuringCanBeTurnedOffAndOn(t *testing.T) {
	m := monitor(t)
	m.SetMeasuring(false)
	x := m.Executions(common.Hash{1}, 1)
	x.End(0)
	x.Done()
	if _, sampled := x.Lag(); x != nil || sampled {
		t.Error("executions are taken")
	}
	m.BlockApplied("bulk", &messages.BlockApplied{Hash: common.Hash{1}})
	if n := len(m.blocks.read()); n != 0 {
		t.Errorf("%d blocks are noted", n)
	}
	m.SetMeasuring(true)
	m.BlockApplied("bulk", &messages.BlockApplied{Hash: common.Hash{1}})
	if n := len(m.blocks.read()); n != 1 {
		t.Errorf("%d blocks are noted", n)
	}
}

func TestBlocksThatAreWaitedForAreBounded(t *testing.T) {
	m := monitor(t)
	for i := range 10 * maxExecutions {
		m.Executions(common.Hash{byte(i), byte(i >> 8)}, 1)
	}
	if len(m.lag.of) != maxExecutions || len(m.lag.order) != maxExecutions {
		t.Errorf("%d, %d", len(m.lag.of), len(m.lag.order))
	}
}

func TestSlotsOfWorkersShareNoPairOfCacheLines(t *testing.T) {
	if size := unsafe.Sizeof(executionSlot{}); size != 128 {
		t.Errorf("a slot has %d bytes", size)
	}
}

// BenchmarkExecutionEnds reports from 16 goroutines: into padded slots, into slots side by side,
// and into one word, which is what would be contended for.
func BenchmarkExecutionEnds(b *testing.B) {
	const workers = 16
	for name, end := range map[string]func() func(worker int){
		"padded": func() func(int) { return newExecutions(workers, func(time.Duration) {}).End },
		"side by side": func() func(int) {
			base, slots := time.Now(), make([]atomic.Int64, workers)
			return func(w int) { slots[w].Store(int64(time.Since(base))) }
		},
		"one word, the latest wins": func() func(int) {
			base, last := time.Now(), new(atomic.Int64)
			return func(int) {
				now := int64(time.Since(base))
				for old := last.Load(); now > old && !last.CompareAndSwap(old, now); old = last.Load() {
				}
			}
		},
		"clock alone": func() func(int) {
			base := time.Now()
			return func(int) { runtime.KeepAlive(time.Since(base)) }
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := end()
			var done sync.WaitGroup
			b.ResetTimer()
			for w := range workers {
				done.Go(func() {
					for range b.N {
						f(w)
					}
				})
			}
			done.Wait()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*workers), "ns/report")
		})
	}
}
