//go:build !race

package state

// slowdown is one without the race detector.
const slowdown = 1
