package storageactor

import (
	"bytes"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadCPU is the processor time of the calling thread. The call never waits, so the scheduler
// need not know of it: in a call that it knows of the core may be given to somebody else.
func threadCPU() time.Duration {
	var t unix.Timespec
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID,
		uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}

// processUsage asks the operating system about this process.
func processUsage() (u usage) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.user, u.system = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
		u.rssMax = int64(r.Maxrss) << 10
	}
	// Fields in pages: size, resident, ... (proc(5)).
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(b); len(f) > 1 {
			pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
			u.rss = pages * int64(os.Getpagesize())
		}
	}
	return u
}
