//go:build mutant && list_unchecked

package mutants

// Active is the fault that is planted in this build.
const Active = ListUnchecked
