//go:build mutant && keep_undone_headers

package mutants

// Active is the fault that is planted in this build.
const Active = KeepUndoneHeaders
