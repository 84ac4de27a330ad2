//go:build mutant && apply_twice

package mutants

// Active is the fault that is planted in this build.
const Active = ApplyTwice
