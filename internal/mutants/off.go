//go:build !mutant

package mutants

// Active is the fault that is planted in this build.
const Active = None
