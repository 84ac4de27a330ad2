// Package mutants plants faults, to see that the tests catch them. Each is a constant that a build
// tag of its own sets, together with the tag mutant:
//
//	go run -tags mutant,ack_before_sync ./test/simulation/cmd/simulate -seeds 1000
//
// In every other build Active is None, and what stands behind a comparison with it is not compiled.
// `make mutants` runs all of them.
package mutants
