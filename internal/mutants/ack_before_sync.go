//go:build mutant && ack_before_sync

package mutants

// Active is the fault that is planted in this build.
const Active = AckBeforeSync
