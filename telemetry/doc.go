// Package telemetry is what a process shows of itself: traces and metrics over OTLP, metrics for
// Prometheus, structured logs, and the status behind the status page.
//
// It is the only importer of the OpenTelemetry SDK; everyone else speaks to the OpenTelemetry API
// with the names of this package, or tells a Monitor what happened. Setup sets no global: what it
// makes is handed on by value.
//
// Nothing here can hold up the engine: spans queue in a bounded queue that drops, and counts, when
// it is full, a collector that is not there costs one warning and a count, and Shutdown ends by a
// deadline. Readers of metrics and status take no lock that an actor waits for.
//
// docs/metrics.md lists the metrics, docs/tracing.md the spans; grafana/ has a dashboard and alert
// rules.
package telemetry
