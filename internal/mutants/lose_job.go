//go:build mutant && lose_job

package mutants

// Active is the fault that is planted in this build.
const Active = LoseJob
