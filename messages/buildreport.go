package messages

// BuildReport is what a storage phase, or the building of the account trie, was seen to take. Each
// number is measured where it arises; none is worked out from another, but for the ratios, which
// say so.
type BuildReport struct {
	Workers int `json:"workers"`
	// WallS is from the first request to the last answer.
	WallS float64 `json:"wall_s"`
	// TrieCPUS is the processor time of the threads that built tries, while they did.
	TrieCPUS float64 `json:"trie_cpu_s"`
	// BusyThreadS is the wall time that workers were at a job, summed.
	BusyThreadS float64 `json:"busy_thread_s"`
	// Parallelism is the ratio of TrieCPUS to WallS.
	Parallelism float64 `json:"parallelism"`
	// Utilization is the ratio of BusyThreadS to workers x WallS.
	Utilization float64 `json:"utilization"`
	// IdleThreadS is the wall time that workers were without a job, summed, by their own clocks.
	IdleThreadS float64 `json:"idle_thread_s"`
	// DispatcherWaitS is the wall time in which a worker had nothing in hand though there was work
	// that nobody had in hand.
	DispatcherWaitS float64 `json:"dispatcher_wait_s"`
	// InputWaitS is the wall time in which a worker had nothing in hand because nothing had been
	// asked for that nobody had in hand.
	InputWaitS float64 `json:"input_wait_s"`
	// SlotTurnover is the time from a worker's answer to the start of its next job, where there was
	// work.
	SlotTurnover Turnover `json:"slot_turnover"`
	// BufferWaitS is the wall time that workers waited for a buffer that was being flushed, summed.
	BufferWaitS float64 `json:"buffer_wait_s"`
	// WriteS is the wall time that workers wrote rows to tables, summed. It is in BusyThreadS, and
	// its processor time is not in TrieCPUS.
	WriteS float64 `json:"write_s"`
	// FlushS is the wall time that rows were being made durable, summed over the flushes.
	FlushS     float64 `json:"flush_s"`
	Flushes    int     `json:"flushes"`
	Jobs       int     `json:"jobs"`
	JobsLost   int     `json:"jobs_lost"`   // to workers that failed; run again
	RunsStolen int     `json:"runs_stolen"` // halves of a worker's run that another one took
	HandedBack int     `json:"handed_back"` // accounts that turned out larger than was known

	Accounts     int   `json:"accounts"`
	Failed       int   `json:"failed"`
	Leaves       int   `json:"leaves"`
	BranchRows   int   `json:"branch_rows"`
	BytesWritten int64 `json:"bytes_written"`
	Orphans      int   `json:"orphan_accounts"`
	OrphanSlots  int   `json:"orphan_slots"`

	TrieAvgMS float64 `json:"trie_avg_ms"`
	TrieP99MS float64 `json:"trie_p99_ms"`
	TrieMaxS  float64 `json:"trie_max_s"`
	// Largest are the accounts with the most leaves, the largest first.
	Largest []LargeAccount `json:"largest"`

	Rate1M  Rate `json:"rate_1m"`
	Rate5M  Rate `json:"rate_5m"`
	Rate15M Rate `json:"rate_15m"`

	Process ProcessUsage `json:"process"`
}

// Turnover is a distribution of times.
type Turnover struct {
	Count  uint64  `json:"count"`
	MeanUS float64 `json:"mean_us"`
	P50US  float64 `json:"p50_us"`
	P99US  float64 `json:"p99_us"`
	MaxUS  float64 `json:"max_us"`
}

// LargeAccount is one of the largest accounts.
type LargeAccount struct {
	HashPrefix string  `json:"hash_prefix"` // eight hex digits of the account hash
	Leaves     int     `json:"leaves"`
	Seconds    float64 `json:"trie_s"`  // of its trie, summed over its ranges
	FirstS     float64 `json:"first_s"` // when its first job began, since the phase's begin
	LastS      float64 `json:"last_s"`  // when its last job ended, since the phase's begin
	Kind       string  `json:"kind"`
}

// Rate is throughput over a window that ends with the report, or over the phase where that is
// shorter.
type Rate struct {
	WindowS         float64 `json:"window_s"`
	AccountsPerS    float64 `json:"accounts_per_s"`
	LeavesPerS      float64 `json:"leaves_per_s"`
	ProcessCPUCores float64 `json:"process_cpu_cores"` // processor time a second
}

// ProcessUsage is what the operating system says of the process, from the phase's begin to its end.
type ProcessUsage struct {
	UserCPUS   float64 `json:"user_cpu_s"`
	SystemCPUS float64 `json:"system_cpu_s"`
	// PeakRSSBytes is the most resident memory in any sample of this phase.
	PeakRSSBytes int64 `json:"peak_rss_bytes"`
	// LifetimePeakRSSBytes is the most resident memory since the process began.
	LifetimePeakRSSBytes int64 `json:"lifetime_peak_rss_bytes"`
	Samples              int   `json:"samples"`
}
