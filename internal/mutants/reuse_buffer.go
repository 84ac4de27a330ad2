//go:build mutant && reuse_buffer

package mutants

// Active is the fault that is planted in this build.
const Active = ReuseBuffer
