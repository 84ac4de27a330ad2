package storageactor

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie"
)

// instruments are the metrics balsa.storage.*.
type instruments struct {
	accounts, leaves, rows, bytes metric.Int64Counter
	job, turnover, flush          metric.Float64Histogram
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var i instruments
	var errs []error
	counter := func(c *metric.Int64Counter, name, unit, what string) {
		var err error
		*c, err = m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
	}
	counter(&i.accounts, "balsa.storage.accounts", "{account}", "Accounts answered")
	counter(&i.leaves, "balsa.storage.leaves", "{leaf}", "Leaves built on")
	counter(&i.rows, "balsa.storage.branch_rows", "{row}", "Branch rows made")
	counter(&i.bytes, "balsa.storage.written", "By", "Bytes written by flushes")
	durations := func(h *metric.Float64Histogram, name, what string) {
		var err error
		*h, err = m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what))
		errs = append(errs, err)
	}
	durations(&i.job, "balsa.storage.job.duration", "A worker's job")
	durations(&i.turnover, "balsa.storage.turnover.duration",
		"From a worker's job end to its next start, where there was work")
	durations(&i.flush, "balsa.storage.flush.duration", "Storing the rows of a segment")
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("instruments: %w", err)
	}
	return &i, nil
}

const (
	keyKind  = attribute.Key("kind")
	keyError = attribute.Key("error.type")
)

func (i *instruments) worked(kind string, follows bool, t *messages.JobTimes) {
	ctx := context.Background()
	i.job.Record(ctx, t.Ended.Sub(t.Started).Seconds(),
		metric.WithAttributes(keyKind.String(kind)))
	if follows {
		i.turnover.Record(ctx, t.Idle.Seconds())
	}
}

func (i *instruments) built(outcomes []messages.TrieOutcome) {
	leaves, rows := 0, 0
	for k := range outcomes {
		if o := &outcomes[k]; o.Estimate == 0 && o.Err == nil {
			leaves, rows = leaves+o.Leaves, rows+o.Rows
		}
	}
	i.leaves.Add(context.Background(), int64(leaves))
	i.rows.Add(context.Background(), int64(rows))
}

func (i *instruments) flushed(m *messages.RowsFlushed) {
	ctx := context.Background()
	var attrs []attribute.KeyValue
	if m.Err != nil {
		attrs = append(attrs, keyError.String("store"))
	}
	i.flush.Record(ctx, m.Times.Ended.Sub(m.Times.Started).Seconds(),
		metric.WithAttributes(attrs...))
	i.bytes.Add(ctx, m.Bytes)
}

func (i *instruments) answered(results []messages.StorageResult) {
	ctx := context.Background()
	good := 0
	for k := range results {
		if err := results[k].Err; err != nil {
			i.accounts.Add(ctx, 1, metric.WithAttributes(keyError.String(errorType(err))))
		} else {
			good++
		}
	}
	if good > 0 {
		i.accounts.Add(ctx, int64(good))
	}
}

// errorType is an error's kind: few values, because each is a time series.
func errorType(err error) string {
	for _, e := range []struct {
		is   error
		name string
	}{
		{ErrRootMismatch, "root_mismatch"}, {ErrRead, "read"}, {ErrStore, "store"},
		{ErrWorkerFailed, "worker"}, {trie.ErrKeyOrder, "key_order"},
		{trie.ErrDuplicateKey, "duplicate_key"}, {trie.ErrEmptyValue, "empty_value"},
		{trie.ErrValueTooLarge, "value_too_large"},
	} {
		if errors.Is(err, e.is) {
			return e.name
		}
	}
	return "other"
}
