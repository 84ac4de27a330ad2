package measure

import "time"

// Quiet is when the process has used less than quietCPU in quietSpan.
const (
	quietSpan   = 100 * time.Millisecond
	quietCPU    = 5 * time.Millisecond
	settleLimit = time.Minute
)

// Settle waits until the process has nothing left to do in the background (compactions, flushes,
// prefetching), so that one side's work does not fall on the next, and returns how long it was
// busy: time that belongs to the side that ran last. It gives up after a minute.
func Settle() time.Duration {
	start := time.Now()
	for time.Since(start) < settleLimit {
		before := CPUTime()
		time.Sleep(quietSpan)
		if CPUTime()-before < quietCPU {
			return max(0, time.Since(start)-quietSpan)
		}
	}
	return time.Since(start)
}
