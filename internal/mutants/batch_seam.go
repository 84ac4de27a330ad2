//go:build mutant && batch_seam

package mutants

// Active is the fault that is planted in this build.
const Active = BatchSeam
