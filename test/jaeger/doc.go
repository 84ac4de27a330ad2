// Package jaeger tests what a real Jaeger makes of Balsa's traces: it builds Jaeger as a Go tool,
// starts it on loopback, has the real balsa replay a chain and rebuild its tries against it over
// OTLP, and asks Jaeger's query interface for the spans.
//
// It is a module of its own, because Jaeger's dependencies are no business of Balsa's. The first
// run builds Jaeger, which takes some minutes; later ones find it in Go's build cache.
package jaeger
