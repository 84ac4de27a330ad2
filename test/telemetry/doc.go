// Package telemetry tests what Balsa shows of itself to others' tools: that docs/metrics.md lists
// what is measured, that the dashboard and the alerts ask for what is there after a real run, that
// the status page draws in a real browser, and what all of it costs.
package telemetry
