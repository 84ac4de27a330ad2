package telemetry

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrEnvironment is returned for an OTEL_ variable with a value that cannot be worked with.
var ErrEnvironment = errors.New("bad environment variable")

const (
	maxSpans        = 1 << 20    // in a queue or an export: some 1 GB of spans
	maxMilliseconds = 86_400_000 // a day
)

// numbers are the variables that the SDK takes as they are, and what they may be: it panics on
// negative sizes, and allocates what it is told to.
var numbers = []struct {
	name     string
	min, max int64
}{
	{"OTEL_BSP_MAX_QUEUE_SIZE", 1, maxSpans},
	{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, maxSpans},
	{"OTEL_BSP_SCHEDULE_DELAY", 1, maxMilliseconds},
	{"OTEL_BSP_EXPORT_TIMEOUT", 0, maxMilliseconds}, // 0: none
	{"OTEL_EXPORTER_OTLP_TIMEOUT", 0, maxMilliseconds},
	{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", 0, maxMilliseconds},
	{"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", 0, maxMilliseconds},
	{"OTEL_METRIC_EXPORT_INTERVAL", 1, maxMilliseconds},
	{"OTEL_METRIC_EXPORT_TIMEOUT", 1, maxMilliseconds},
	// A limit of -1 is none.
	{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", -1, math.MaxInt32},
	{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", -1, math.MaxInt32},
	{"OTEL_ATTRIBUTE_COUNT_LIMIT", -1, math.MaxInt32},
	{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", -1, math.MaxInt32},
	{"OTEL_SPAN_EVENT_COUNT_LIMIT", -1, math.MaxInt32},
	{"OTEL_SPAN_LINK_COUNT_LIMIT", -1, math.MaxInt32},
	{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", -1, math.MaxInt32},
	{"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", -1, math.MaxInt32},
}

// checkEnvironment refuses numbers out of range, and what is no number.
func checkEnvironment(getenv func(string) string) error {
	for _, n := range numbers {
		text := getenv(n.name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < n.min || v > n.max {
			return fmt.Errorf("%w: %s is %.40q, not a number from %d to %d",
				ErrEnvironment, n.name, text, n.min, n.max)
		}
	}
	return nil
}
