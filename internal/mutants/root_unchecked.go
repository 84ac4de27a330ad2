//go:build mutant && root_unchecked

package mutants

// Active is the fault that is planted in this build.
const Active = RootUnchecked
