//go:build !linux

package storageactor

import (
	"runtime/metrics"
	"time"
)

// threadCPU stands for the processor time of the calling thread by the time that passes: what asks
// for the former differs from system to system.
func threadCPU() time.Duration { return time.Since(processBegin) }

var processBegin = time.Now()

// processUsage is what the runtime knows of the process.
func processUsage() (u usage) {
	s := []metrics.Sample{
		{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/memory/classes/total:bytes"},
	}
	metrics.Read(s)
	u.user = time.Duration(s[0].Value.Float64() * float64(time.Second))
	u.rss = int64(s[1].Value.Uint64())
	u.rssMax = u.rss
	return u
}
