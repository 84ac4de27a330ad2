package bench

import (
	"syscall"
	"time"
)

// Quiet is when the process has used less than quietCPU in quietSpan.
const (
	quietSpan   = 100 * time.Millisecond
	quietCPU    = 5 * time.Millisecond
	settleLimit = time.Minute
)

// settle waits until the process has nothing left to do in the background (compactions, flushes,
// prefetching), so that one side's work does not fall on the next, and returns how long it was
// busy: time that belongs to the side whose segment just ended.
func settle() time.Duration {
	start := time.Now()
	for time.Since(start) < settleLimit {
		before := cpuTime()
		time.Sleep(quietSpan)
		if cpuTime()-before < quietCPU {
			return max(0, time.Since(start)-quietSpan)
		}
	}
	return time.Since(start)
}

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0 // cannot fail for the process itself
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
