package storageactor

import (
	"fmt"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/balsa-sync/balsa/actors"
)

// Options say how a StorageActor works. The zero value means the defaults.
type Options struct {
	// Workers is the number of TrieBuild children. Default: GOMAXPROCS.
	Workers int
	// Flushers is the number of RowFlush children, who store the rows of finished runs while the
	// workers build on. They wait for the disk rather than for a core. Default: Workers.
	Flushers int
	// Buffers is the number of row buffers. A worker has one while it is at a segment, and a second
	// one where its next jobs begin another; the others are being flushed. Default: 4 x Workers.
	Buffers int

	// LargeLeaves is the number of leaves from which on an account is built alone: below, what jobs
	// share (iterator, builder, buffer, flush) is worth more than an even load. Default: 50,000.
	LargeLeaves int
	// SplitLeaves is the number of leaves from which on an account is split into key ranges, so that
	// no job is long enough to be waited for at the end. Default: 4 x LargeLeaves.
	SplitLeaves int
	// PartLeaves is the number of leaves that a key range aims at. Default: LargeLeaves.
	PartLeaves int
	// BatchAccounts is the most accounts of a batch. Default: 64.
	BatchAccounts int
	// BatchLeaves is the number of leaves at which a batch is full, where they are known.
	// Default: 32,768.
	BatchLeaves int

	// SegmentAccounts and SegmentLeaves bound a segment: the contiguous run of accounts that one
	// worker builds, batch by batch, and that is flushed as a whole, so that a flush costs little
	// for each account and tables of different workers do not overlap. Defaults: 2,048 and 1 << 20.
	SegmentAccounts int
	SegmentLeaves   int
	// SegmentBytes is the size of a buffer at which its segment ends: below the 16 MiB at which
	// state.BulkRows spills, which would cost a merge. Default: 6 MiB.
	SegmentBytes int
	// Credit is how many accounts a requester may have outstanding (I4). Default: a segment for each
	// buffer, and two more for each worker that wait.
	Credit int

	// JobAttempts is how often a job is handed out before it is taken apart, and at last its account
	// fails. Default: 3.
	JobAttempts int
	// SampleEvery is how often the process is looked at, for the report. Default: 1 s.
	SampleEvery time.Duration
	// Meter makes the instruments balsa.storage.*. Default: one that does nothing.
	Meter metric.Meter
	// Restarts is how children are restarted. Default: the kit's.
	Restarts actors.Restarts
}

// MaxWorkers bounds Options.Workers.
const MaxWorkers = 256

// maxLargeLeaves bounds Options.LargeLeaves, of which other defaults are multiples.
const maxLargeLeaves = 1 << 28

// maxParts bounds how many key ranges one survey may give; a range that is still too large is
// surveyed again when a worker meets it.
const maxParts = 16_384

// Validate fills in the defaults and refuses what cannot work.
func (o *Options) Validate() error {
	setDefault(&o.Workers, min(runtime.GOMAXPROCS(0), MaxWorkers))
	setDefault(&o.Flushers, o.Workers)
	setDefault(&o.Buffers, 4*o.Workers)
	setDefault(&o.LargeLeaves, 50_000)
	if o.LargeLeaves > maxLargeLeaves {
		return fmt.Errorf("large leaves: %d is above %d", o.LargeLeaves, maxLargeLeaves)
	}
	setDefault(&o.SplitLeaves, 4*o.LargeLeaves)
	setDefault(&o.PartLeaves, o.LargeLeaves)
	setDefault(&o.BatchAccounts, 64)
	setDefault(&o.BatchLeaves, 32_768)
	setDefault(&o.SegmentAccounts, 2048)
	setDefault(&o.SegmentLeaves, 1<<20)
	setDefault(&o.SegmentBytes, 6<<20)
	setDefault(&o.Credit, (o.Buffers+2*o.Workers)*o.SegmentAccounts)
	setDefault(&o.JobAttempts, 3)
	if o.SampleEvery == 0 {
		o.SampleEvery = time.Second
	}
	if o.Meter == nil {
		o.Meter = noop.NewMeterProvider().Meter("")
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"workers", o.Workers}, {"flushers", o.Flushers}, {"large leaves", o.LargeLeaves},
		{"part leaves", o.PartLeaves}, {"batch accounts", o.BatchAccounts},
		{"batch leaves", o.BatchLeaves}, {"segment accounts", o.SegmentAccounts},
		{"segment leaves", o.SegmentLeaves}, {"segment bytes", o.SegmentBytes},
		{"credit", o.Credit}, {"job attempts", o.JobAttempts},
	} {
		if f.n < 1 {
			return fmt.Errorf("%s: %d is below 1", f.name, f.n)
		}
	}
	switch {
	case o.Workers > MaxWorkers:
		return fmt.Errorf("workers: %d is above %d", o.Workers, MaxWorkers)
	case o.Buffers < o.Workers:
		return fmt.Errorf("buffers: %d is below the number of workers, %d", o.Buffers, o.Workers)
	case o.SplitLeaves < o.LargeLeaves:
		return fmt.Errorf("split leaves: %d is below large leaves, %d", o.SplitLeaves, o.LargeLeaves)
	case o.SampleEvery < 0:
		return fmt.Errorf("sample every: %v is negative", o.SampleEvery)
	}
	return nil
}

func setDefault(v *int, n int) {
	if *v == 0 {
		*v = n
	}
}
