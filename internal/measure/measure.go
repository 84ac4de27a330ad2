package measure

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Sample is what one run of something took.
type Sample struct {
	Wall   time.Duration
	CPU    time.Duration // of the whole process, as the operating system counts it
	Allocs uint64        // objects
	Bytes  uint64        // allocated
}

// Run measures f, after a garbage collection.
func Run(f func() error) (Sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := CPUTime(), time.Now()
	err := f()
	s := Sample{Wall: time.Since(start), CPU: CPUTime() - cpu}
	runtime.ReadMemStats(&after)
	s.Allocs, s.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return s, err
}

// Side is one of the things that are compared.
type Side struct {
	Name string
	// Run does the work once and says what it took, mostly by the function Run around that part
	// which counts.
	Run func(ctx context.Context) (Sample, error)
}

// Alternate runs all sides, one after the other, for some rounds, and returns each side's samples.
// Every second round goes backwards, so that no side always has the same one before it.
func Alternate(ctx context.Context, rounds int, sides ...Side) ([]Samples, error) {
	all := make([]Samples, len(sides))
	for round := range rounds {
		for n := range sides {
			i := n
			if round%2 == 1 {
				i = len(sides) - 1 - n
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, err := sides[i].Run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: round %d: %w", sides[i].Name, round+1, err)
			}
			all[i] = append(all[i], s)
		}
	}
	return all, nil
}

// Samples are a side's, in the order of the rounds.
type Samples []Sample

// Wall gives the wall times, in seconds.
func (s Samples) Wall() []float64 {
	return s.each(func(x *Sample) float64 { return x.Wall.Seconds() })
}

// CPU gives the processor times, in seconds.
func (s Samples) CPU() []float64 {
	return s.each(func(x *Sample) float64 { return x.CPU.Seconds() })
}

// OneCore gives what work on one core took, in seconds: its processor time, which neighbours on a
// busy machine do not stretch; the wall time where the former is not known.
func (s Samples) OneCore() []float64 {
	return s.each(func(x *Sample) float64 {
		if x.CPU == 0 {
			return x.Wall.Seconds()
		}
		return x.CPU.Seconds()
	})
}

// Allocs gives the numbers of allocated objects.
func (s Samples) Allocs() []float64 {
	return s.each(func(x *Sample) float64 { return float64(x.Allocs) })
}

func (s Samples) each(f func(*Sample) float64) []float64 {
	values := make([]float64, len(s))
	for i := range s {
		values[i] = f(&s[i])
	}
	return values
}
