package telemetry

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// observeProcess makes the metrics process.* of OpenTelemetry's conventions. What the operating
// system does not tell is left out.
func observeProcess(r *register, began time.Time) {
	cpu := r.totalTime("process.cpu.time", "Processor time")
	resident := r.gauge("process.memory.usage", "By", "Resident memory")
	virtual := r.gauge("process.memory.virtual", "By", "Virtual memory")
	threads := r.gauge("process.thread.count", "{thread}", "Threads")
	files := r.gauge("process.unix.file_descriptor.count", "{file_descriptor}", "Open files")
	uptime := r.level("process.uptime", "s", "Time since the process began to be watched")
	mode := func(m string) metric.ObserveOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("cpu.mode", m)))
	}
	r.observe(func(o metric.Observer) {
		o.ObserveFloat64(uptime, time.Since(began).Seconds())
		if user, system, ok := processCPU(); ok {
			o.ObserveFloat64(cpu, user.Seconds(), mode("user"))
			o.ObserveFloat64(cpu, system.Seconds(), mode("system"))
		}
		if dir, err := os.ReadDir("/proc/self/fd"); err == nil {
			o.ObserveInt64(files, int64(len(dir)))
		}
		raw, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return
		}
		for key, i := range map[string]metric.Int64Observable{
			"VmRSS": resident, "VmSize": virtual, "Threads": threads,
		} {
			if n, ok := procField(raw, key); ok {
				o.ObserveInt64(i, n)
			}
		}
	})
}

// procField finds a number of /proc/self/status; what it gives in kB comes back in bytes.
func procField(raw []byte, key string) (int64, bool) {
	_, rest, ok := bytes.Cut(raw, []byte("\n"+key+":"))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0, false
	}
	if len(fields) == 2 && string(fields[1]) == "kB" {
		n <<= 10
	}
	return n, true
}
