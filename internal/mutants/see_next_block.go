//go:build mutant && see_next_block

package mutants

// Active is the fault that is planted in this build.
const Active = SeeNextBlock
