package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Keys of metric attributes. Each has few values, because each value is a time series.
const (
	KeyErrorType = attribute.Key("error.type") // why it failed; absent: it did not
	KeyActor     = attribute.Key("balsa.actor")
	KeyMode      = attribute.Key("balsa.mode")   // bulk or journaled
	KeyPhase     = attribute.Key("balsa.phase")  // storage or accounts; a command's phase
	KeyReason    = attribute.Key("balsa.reason") // why something was not done
	KeyLevel     = attribute.Key("balsa.level")  // of Pebble's tree, 0 to 6
	KeyStat      = attribute.Key("balsa.stat")   // mean, p50, p99 or max
	KeyWindow    = attribute.Key("balsa.window") // 1m, 5m or 15m
	KeyOutcome   = attribute.Key("balsa.outcome")
)

// seconds are the bounds of histograms of times: 10 µs to 10 min.
var seconds = []float64{
	1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2,
	0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600,
}

// register makes instruments and keeps what went wrong.
type register struct {
	meter metric.Meter
	errs  []error
	// observed are the instruments that a callback reads out.
	observed []metric.Observable
}

func keep[T any](r *register, i T, err error) T {
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return i
}

func (r *register) err() error {
	if err := errors.Join(r.errs...); err != nil {
		return fmt.Errorf("instruments: %w", err)
	}
	return nil
}

func (r *register) counter(name, unit, what string) metric.Int64Counter {
	i, err := r.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	return keep(r, i, err)
}

func (r *register) duration(name, what string) metric.Float64Histogram {
	i, err := r.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
		metric.WithExplicitBucketBoundaries(seconds...))
	return keep(r, i, err)
}

func (r *register) total(name, unit, what string) metric.Int64ObservableCounter {
	i, err := r.meter.Int64ObservableCounter(name, metric.WithUnit(unit),
		metric.WithDescription(what))
	r.observed = append(r.observed, i)
	return keep(r, i, err)
}

func (r *register) totalTime(name, what string) metric.Float64ObservableCounter {
	i, err := r.meter.Float64ObservableCounter(name, metric.WithUnit("s"),
		metric.WithDescription(what))
	r.observed = append(r.observed, i)
	return keep(r, i, err)
}

func (r *register) gauge(name, unit, what string) metric.Int64ObservableGauge {
	i, err := r.meter.Int64ObservableGauge(name, metric.WithUnit(unit),
		metric.WithDescription(what))
	r.observed = append(r.observed, i)
	return keep(r, i, err)
}

func (r *register) level(name, unit, what string) metric.Float64ObservableGauge {
	i, err := r.meter.Float64ObservableGauge(name, metric.WithUnit(unit),
		metric.WithDescription(what))
	r.observed = append(r.observed, i)
	return keep(r, i, err)
}

// observe has f read out what was made since the last observe, at each collection.
func (r *register) observe(f func(metric.Observer)) {
	_, err := r.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		f(o)
		return nil
	}, r.observed...)
	r.observed = nil
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// one is an attribute set of one attribute.
func one(key attribute.Key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(key.String(value)))
}
