//go:build mutant && skip_empty_sweep

package mutants

// Active is the fault that is planted in this build.
const Active = SkipEmptySweep
