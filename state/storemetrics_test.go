package state

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Metrics may be read while the store is closed, and does not keep it from closing.
func TestMetricsDoNotHoldUpClose(t *testing.T) {
	s, err := Open(Options{Dir: "store", FS: MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				if m, err := s.Metrics(); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("%v", err)
					}
					return
				} else if m.DiskBytes == 0 {
					t.Error("a store without files")
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
}

func TestAStallIsCountedFromItsBegin(t *testing.T) {
	var s stalls
	l := &pebble.EventListener{WriteStallBegin: func(pebble.WriteStallBeginInfo) {}}
	s.watch(l)
	l.WriteStallBegin(pebble.WriteStallBeginInfo{})
	since := time.Unix(0, s.since.Load())
	if n, total, under := s.read(since.Add(time.Second)); n != 1 || total != time.Second || !under {
		t.Errorf("%d stalls, %v, under way: %v", n, total, under)
	}
	l.WriteStallEnd()
	n, total, under := s.read(since.Add(time.Hour))
	if n != 1 || total >= time.Hour || under {
		t.Errorf("%d stalls, %v, under way: %v", n, total, under)
	}
}
