//go:build mutant && trim_unwritten

package mutants

// Active is the fault that is planted in this build.
const Active = TrimUnwritten
