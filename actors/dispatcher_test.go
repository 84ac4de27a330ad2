package actors

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// settle waits until the pool has a number of parked goroutines.
func settle(t *testing.T, p *pool, parked int) {
	t.Helper()
	for end := time.Now().Add(patience); p.parked() != parked; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines parked, want %d", p.parked(), parked)
		}
	}
}

func TestScheduleNeverBlocksAndParksABoundedNumber(t *testing.T) {
	const jobs, maxIdle = 50, 3
	p := newPool(maxIdle)
	defer p.Close()
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for range jobs { // none of them ends before all are scheduled
		wg.Add(1)
		p.Schedule(func() {
			defer wg.Done()
			<-gate
		})
	}
	if n := p.live.Load(); n != jobs {
		t.Fatalf("%d goroutines, want %d", n, jobs)
	}
	close(gate)
	wg.Wait()
	settle(t, p, maxIdle)
	for end := time.Now().Add(patience); p.live.Load() != maxIdle; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, want %d", p.live.Load(), maxIdle)
		}
	}
}

func TestTheLastParkedGoroutineIsUsedFirst(t *testing.T) {
	p := newPool(2)
	defer p.Close()
	gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	for _, gate := range gates {
		p.Schedule(func() { <-gate })
	}
	close(gates[0])
	settle(t, p, 1)
	first := p.idle[0]
	close(gates[1])
	settle(t, p, 2)
	done := make(chan struct{})
	p.Schedule(func() { close(done) })
	p.mu.Lock()
	if len(p.idle) == 1 && p.idle[0] != first {
		t.Error("the goroutine that was parked first was used")
	}
	p.mu.Unlock()
	<-done
	settle(t, p, 2)
	if n := p.live.Load(); n != 2 {
		t.Fatalf("%d goroutines, want 2", n)
	}
}

func TestCloseEndsTheParkedAndStillRunsWhatIsScheduled(t *testing.T) {
	p := newPool(8)
	gate := make(chan struct{})
	p.Schedule(func() { <-gate })
	done := make(chan struct{})
	p.Schedule(func() { close(done) })
	<-done
	settle(t, p, 1)
	p.Close()
	p.Close()
	close(gate)
	late := make(chan struct{})
	p.Schedule(func() { close(late) })
	<-late
	for end := time.Now().Add(patience); p.live.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left", p.live.Load())
		}
	}
}

func TestGoroutineThatEndsInAJobIsNotParked(t *testing.T) {
	p := newPool(8)
	defer p.Close()
	p.Schedule(runtime.Goexit)
	for end := time.Now().Add(patience); p.live.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left", p.live.Load())
		}
	}
	if p.parked() != 0 {
		t.Fatal("it is parked")
	}
}
