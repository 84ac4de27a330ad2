//go:build unix

package measure

import (
	"syscall"
	"time"
)

// CPUTime is the processor time that the process has used, as the operating system counts it; 0
// where it is not known.
func CPUTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0 // cannot fail for the process itself
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
