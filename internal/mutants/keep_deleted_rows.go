//go:build mutant && keep_deleted_rows

package mutants

// Active is the fault that is planted in this build.
const Active = KeepDeletedRows
