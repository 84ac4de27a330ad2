package mutants

// The planted faults.
const (
	None              = iota
	AckBeforeSync     // a block is acknowledged before its log entry is synced
	TrimUnwritten     // log entries are removed that no checkpoint includes
	ForgetUndo        // recovery forgets that the log undid a block
	KeepDeletedRows   // a checkpoint does not write deletions
	KeepUndoneHeaders // undoing a block leaves the row of its number
	SeeNextBlock      // a view sees rows of the commit behind its own
	ForgetCorrections // a flush loses the storage roots that came out
	ApplyTwice        // a block that the store has is taken for a new one
	SkipEmptySweep    // an account that ends empty stays
	StaleStorageRoot  // an account keeps the storage root that it had
	KeepBranchRows    // branch rows that go are not deleted
	BatchSeam         // an account at the seam of two batches is left out
	LoseJob           // the job of a worker that was restarted is not handed out again
	RootUnchecked     // a block is not held against its header's root
	ListUnchecked     // a list is not held against its header's hash
	ReuseBuffer       // a value that was read is kept in a buffer of the reader's
	EmbedShort        // a node of 31 bytes is hashed instead of embedded
	ForgetResend      // the StorageActor's restart is not told to who asked
)
