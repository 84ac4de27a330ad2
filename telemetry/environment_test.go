package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestSetupRefusesNumbersThatTheSDKCannotTake names each variable with values that would make the
// SDK panic, allocate without end, or export never.
func TestSetupRefusesNumbersThatTheSDKCannotTake(t *testing.T) {
	o := Options{OTLPEndpoint: "127.0.0.1:1"}
	for name, values := range map[string][]string{
		"OTEL_BSP_MAX_QUEUE_SIZE":                {"-1", "0", "4611686018427387904", "1e3", "many"},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE":         {"-1", "0", "999999999999", "99999999999999999999"},
		"OTEL_BSP_SCHEDULE_DELAY":                {"-5", "0", "9223372036854775807"},
		"OTEL_BSP_EXPORT_TIMEOUT":                {"-1", "9223372036854775807"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":             {"-1", "9223372036854775807"},
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT":        {"-2", "x"},
		"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT":       {"-2"},
		"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT":        {"-2"},
		"OTEL_SPAN_EVENT_COUNT_LIMIT":            {"-2"},
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT":      {"-9"},
		"OTEL_SPAN_LINK_COUNT_LIMIT":             {"9223372036854775807"},
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT":      {"soon"},
		"OTEL_ATTRIBUTE_COUNT_LIMIT":             {"0x10"},
		"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": {"-2"},
	} {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				t.Setenv(name, value)
				p, err := Setup(t.Context(), o)
				if !errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), name) {
					t.Errorf("%v, %v", p, err)
				}
			})
		}
	}
}

func TestSetupTakesNumbersInRange(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_BSP_MAX_QUEUE_SIZE": "1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
		"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_EXPORT_TIMEOUT": "0",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "-1", "OTEL_EXPORTER_OTLP_TIMEOUT": "10000",
	} {
		t.Setenv(name, value)
	}
	p, err := Setup(t.Context(), Options{OTLPEndpoint: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestNumbersMeanNothingWhereNothingIsExported(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
	if p, err := Setup(t.Context(), Options{}); err != nil || p.Enabled() {
		t.Error(p, err)
	}
}
