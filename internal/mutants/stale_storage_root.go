//go:build mutant && stale_storage_root

package mutants

// Active is the fault that is planted in this build.
const Active = StaleStorageRoot
