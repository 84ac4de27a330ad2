package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/balsa-sync/balsa/messages"
)

// blockInstruments are the metrics balsa.block.*. The phases' are of blocks that were applied.
type blockInstruments struct {
	total                                  metric.Float64Histogram
	decode, warmup, apply                  metric.Float64Histogram
	storageRoots, accountRoot, commit      metric.Float64Histogram
	known, accounts, slots, rows, reverted metric.Int64Counter
	lag                                    metric.Float64Histogram
}

func newBlockInstruments(r *register) *blockInstruments {
	return &blockInstruments{
		total: r.duration("balsa.block.duration",
			"A block from when it is taken in hand until its answer, applied or rejected"),
		decode: r.duration("balsa.block.decode.duration",
			"Decoding and checking a block access list, and working out the post-state"),
		warmup: r.duration("balsa.block.warmup.duration",
			"Waiting for reads of the parent's state, of the worker that waited longest"),
		apply: r.duration("balsa.block.apply.duration",
			"Applying the changes to accounts and slots, before any hashing"),
		storageRoots: r.duration("balsa.block.storage_roots.duration",
			"Storage tries of the changed accounts, of the worker that took longest"),
		accountRoot: r.duration("balsa.block.account_root.duration",
			"The account trie up to the state root"),
		commit: r.duration("balsa.block.commit.duration",
			"Logging the block and making its rows readable"),
		lag: r.duration("balsa.block.root_lag.duration",
			"From the last transaction's end to the proven root, 0 where the root came first; "+
				"sampled blocks alone"),
		known: r.counter("balsa.block.known", "{block}",
			"Blocks that the store held already; nothing was done"),
		accounts: r.counter("balsa.block.accounts", "{account}", "Accounts that blocks changed"),
		slots:    r.counter("balsa.block.slots", "{slot}", "Storage slots that blocks changed"),
		rows: r.counter("balsa.block.branch_rows", "{row}",
			"Branch rows that blocks wrote and deleted"),
		reverted: r.counter("balsa.block.rewound", "{block}", "Blocks undone"),
	}
}

// BlockRecord is a block as it was seen to pass. Times are in seconds.
type BlockRecord struct {
	Number       uint64    `json:"number"`
	Hash         string    `json:"hash"`
	At           time.Time `json:"at"` // when it was answered
	Mode         string    `json:"mode"`
	Accounts     int       `json:"accounts"`
	Slots        int       `json:"slots"`
	Rows         int       `json:"branchRows"`
	Total        float64   `json:"total"`
	Decode       float64   `json:"decode"`
	Warmup       float64   `json:"warmup"`
	Apply        float64   `json:"apply"`
	StorageRoots float64   `json:"storageRoots"`
	AccountRoot  float64   `json:"accountRoot"`
	Commit       float64   `json:"commit"`
	Error        string    `json:"error,omitempty"` // why it was rejected
	// Lag is the root-ready lag; nil: not sampled, which is not the same as 0.
	Lag *float64 `json:"rootLag"`
}

// blockEntry is a record with what may still come to be known of it.
type blockEntry struct {
	BlockRecord
	executions *Executions
}

// record is the block as it is known now.
func (e *blockEntry) record() BlockRecord {
	r := e.BlockRecord
	if lag, sampled := e.executions.Lag(); sampled {
		s := lag.Seconds()
		r.Lag = &s
	}
	return r
}

// BlockApplied notes a block's answer.
func (m *Monitor) BlockApplied(mode string, b *messages.BlockApplied) {
	if !m.Measuring() {
		return
	}
	ctx, i := context.Background(), m.block
	if b.Known {
		i.known.Add(ctx, 1)
		return
	}
	attrs := one(KeyMode, mode)
	p := &b.Phases
	for _, h := range []struct {
		histogram metric.Float64Histogram
		took      time.Duration
	}{
		{i.total, p.Total}, {i.decode, p.Decode}, {i.warmup, p.Warmup}, {i.apply, p.Apply},
		{i.storageRoots, p.StorageRoots}, {i.accountRoot, p.AccountRoot}, {i.commit, p.Commit},
	} {
		h.histogram.Record(ctx, h.took.Seconds(), attrs)
	}
	i.accounts.Add(ctx, int64(b.Accounts), attrs)
	i.slots.Add(ctx, int64(b.Slots), attrs)
	i.rows.Add(ctx, int64(b.Rows), attrs)
	rec := &blockEntry{executions: m.lag.answered(b.Hash)}
	m.lag.count(rec.executions)
	rec.BlockRecord = BlockRecord{
		Number: b.Number, Hash: b.Hash.Hex(), At: m.now(), Mode: mode, Accounts: b.Accounts,
		Slots: b.Slots, Rows: b.Rows, Total: p.Total.Seconds(), Decode: p.Decode.Seconds(),
		Warmup: p.Warmup.Seconds(), Apply: p.Apply.Seconds(),
		StorageRoots: p.StorageRoots.Seconds(),
		AccountRoot:  p.AccountRoot.Seconds(), Commit: p.Commit.Seconds(),
	}
	m.blocks.add(rec)
}

// BlockRejected notes a rejected block. kind is its error's: one of a few, never an address or a
// hash.
func (m *Monitor) BlockRejected(mode, kind string, b *messages.BlockRejected,
	took time.Duration) {
	if !m.Measuring() {
		return
	}
	m.block.total.Record(context.Background(), took.Seconds(), metric.WithAttributeSet(
		attribute.NewSet(KeyMode.String(mode), KeyErrorType.String(kind))))
	m.lag.answered(b.Hash)
	m.blocks.add(&blockEntry{BlockRecord: BlockRecord{
		Number: b.Number, Hash: b.Hash.Hex(), At: m.now(), Mode: mode, Total: took.Seconds(),
		Error: kind,
	}})
}

// Rewound counts blocks that were undone.
func (m *Monitor) Rewound(blocks int) {
	if m.Measuring() && blocks > 0 {
		m.block.reverted.Add(context.Background(), int64(blocks))
	}
}
