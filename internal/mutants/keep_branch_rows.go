//go:build mutant && keep_branch_rows

package mutants

// Active is the fault that is planted in this build.
const Active = KeepBranchRows
