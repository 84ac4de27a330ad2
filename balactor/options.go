package balactor

import (
	"fmt"
	"runtime"

	"github.com/balsa-sync/balsa/actors"
)

// Options say how a BalApplyActor works. The zero value means the defaults.
type Options struct {
	// Workers is the number of AccountBatch children. Default: GOMAXPROCS.
	Workers int
	// MaxQueued is how many requests may wait behind the one in hand (I4). Default: 64.
	MaxQueued int
	// JobAttempts is how often a job is handed out before its block is rejected. Default: 3.
	JobAttempts int
	// BatchSlots is the weight, in accounts plus slots, that a storage batch aims at where a block
	// has more than one for each worker. It bounds a job's memory. Default: 4,096.
	BatchSlots int
	// ParallelAccounts is the number of changed accounts from which on the account trie is updated
	// by the workers in parts instead of whole. Default: 128; below that the hand-over costs more
	// than it wins.
	ParallelAccounts int
	// Apply says how block access lists become new values. Default: ApplyBulk.
	Apply Apply
	// Restarts is how children are restarted. Default: the kit's.
	Restarts actors.Restarts
}

// MaxWorkers bounds Options.Workers: the account trie has sixteen parts, and storage batches of
// one block do not feed more workers than this.
const MaxWorkers = 64

// Validate fills in the defaults and refuses what cannot work.
func (o *Options) Validate() error {
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = 64
	}
	if o.JobAttempts == 0 {
		o.JobAttempts = 3
	}
	if o.BatchSlots == 0 {
		o.BatchSlots = 4096
	}
	if o.ParallelAccounts == 0 {
		o.ParallelAccounts = 128
	}
	switch {
	case o.Apply > ApplyJournaled:
		return fmt.Errorf("apply: there is no way %d", o.Apply)
	case o.Workers < 1 || o.Workers > MaxWorkers:
		return fmt.Errorf("workers: %d is not between 1 and %d", o.Workers, MaxWorkers)
	case o.MaxQueued < 1:
		return fmt.Errorf("max queued: %d is below 1", o.MaxQueued)
	case o.JobAttempts < 1:
		return fmt.Errorf("job attempts: %d is below 1", o.JobAttempts)
	case o.BatchSlots < 1:
		return fmt.Errorf("batch slots: %d is below 1", o.BatchSlots)
	case o.ParallelAccounts < 1:
		return fmt.Errorf("parallel accounts: %d is below 1", o.ParallelAccounts)
	}
	return nil
}
