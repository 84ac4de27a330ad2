//go:build race

package state

// slowdown is about how much longer the race detector makes tests; they do so much less then.
const slowdown = 3
