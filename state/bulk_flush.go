package state

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// FlushStats say what a flush wrote, the runs that were spilled since the one before included.
type FlushStats struct {
	Rows   uint64
	Bytes  uint64 // of files
	Tables int
	Runs   int // spilled before

	Sort, Write time.Duration
	Sync        time.Duration // of files that were written before, of the folder, of the manifest
}

func (f *FlushStats) add(tables []tableMeta) {
	for i := range tables {
		f.Rows += tables[i].rows
		f.Bytes += tables[i].size
	}
	f.Tables += len(tables)
}

// Write is the half of a Flush with the same ranges that takes processor time rather than disk: it
// sorts all rows and writes them to tables, which the next Flush makes durable. So the two can be
// done by different hands. No rows may come between them. After an error the rows are still there.
func (w *BulkRows) Write(done ...KeyRange) error {
	if err := w.b.enter(); err != nil {
		return err
	}
	defer w.b.leave()
	err := checkRanges(done)
	if err == nil {
		err = w.voidDrops()
	}
	if err == nil {
		err = w.writeLate(&w.spill, done)
	}
	if err != nil {
		return fmt.Errorf("write branch rows: %w", err)
	}
	return nil
}

// writeLate writes the rows in memory as a sorted run that Flush makes durable.
func (w *BulkRows) writeLate(stats *FlushStats, done []KeyRange) error {
	tables, err := w.writeRun(stats, done, true)
	if err != nil {
		return err
	}
	w.runs = append(w.runs, tables...)
	w.clear()
	return nil
}

// Flush writes all rows and corrections, and records that the storage tries of all accounts in the
// given ranges are finished, durably and in one step. It may be given none, for rows of a trie that
// others work on too: they outlive an interruption once a later Flush finishes their account. After
// an error the rows are still there, and Flush may be called again, unless it was that rows written
// before could not be made durable: then all there is left is Discard.
func (w *BulkRows) Flush(done ...KeyRange) (FlushStats, error) {
	if err := w.b.enter(); err != nil {
		return FlushStats{}, err
	}
	defer w.b.leave()
	stats, err := w.flush(done)
	if err != nil {
		return FlushStats{}, fmt.Errorf("flush branch rows: %w", err)
	}
	return stats, nil
}

func (w *BulkRows) flush(done []KeyRange) (stats FlushStats, err error) {
	if err := errors.Join(checkRanges(done), w.voidDrops()); err != nil {
		return stats, err
	}
	stats = w.spill
	tables, err := w.writeRun(&stats, done, false)
	if err != nil {
		return stats, err
	}
	start := time.Now()
	if w.broken == nil {
		w.broken = w.b.syncTables(w.runs)
	}
	if w.broken != nil {
		w.b.remove(tables)
		return stats, w.broken
	}
	all := append(append([]tableMeta(nil), w.runs...), tables...)
	if err := w.b.admit(all, done, &w.fixes); err != nil {
		w.b.remove(tables)
		return stats, err
	}
	stats.Sync += time.Since(start)
	stats.add(all)
	w.runs, w.spill = nil, FlushStats{}
	w.fixes.clear()
	w.clear()
	return stats, nil
}

func checkRanges(done []KeyRange) error {
	for _, r := range done {
		if bytes.Compare(r.From[:], r.To[:]) > 0 {
			return fmt.Errorf("%w: range from %x to %x", ErrKeyOrder, r.From, r.To)
		}
	}
	return nil
}

// spillRun writes the rows in memory as a sorted run.
func (w *BulkRows) spillRun() error {
	if err := w.b.enter(); err != nil {
		return err
	}
	defer w.b.leave()
	if err := w.writeLate(&w.spill, nil); err != nil {
		return fmt.Errorf("spill branch rows: %w", err)
	}
	w.spill.Runs++
	return nil
}

// writeRun sorts the rows in memory and writes them to tables, cut where the accounts of one range
// end. The rows stay.
func (w *BulkRows) writeRun(stats *FlushStats, done []KeyRange, late bool) ([]tableMeta, error) {
	whole := mergeRanges(append([]KeyRange(nil), done...))
	group := func(a *common.Hash) int { return findRange(whole, a[:]) }
	start := time.Now()
	w.sort()
	sorted := time.Now()
	t := &tableWriter{b: w.b, opts: &w.b.rowOptions, cut: tableBytes, late: late}
	if err := w.write(t, group); err != nil {
		t.discard()
		return nil, err
	}
	stats.Sort += sorted.Sub(start)
	stats.Write += time.Since(sorted)
	return t.done, nil
}

// voidDrops writes the runs again that hold rows of dropped accounts.
func (w *BulkRows) voidDrops() error {
	if len(w.drops) == 0 {
		return nil
	}
	var runs []tableMeta
	for i := range w.runs {
		run := &w.runs[i]
		void := make(map[common.Hash]bool)
		for _, d := range w.drops {
			if i < d.n && run.mayHold(&d.account) {
				void[d.account] = true
			}
		}
		if len(void) == 0 {
			runs = append(runs, *run)
			continue
		}
		tables, err := w.b.rewrite(run, void)
		if err != nil {
			return fmt.Errorf("drop rows: %w", err) // what is rewritten goes with the folder
		}
		runs = append(runs, tables...)
	}
	old := w.runs
	w.runs, w.drops = runs, nil
	kept := make(map[uint64]bool)
	for i := range runs {
		kept[runs[i].id] = true
	}
	for i := range old {
		if !kept[old[i].id] {
			w.b.remove(old[i : i+1])
		}
	}
	return nil
}

// rewrite writes a table's rows again without those of some accounts.
func (b *Bulk) rewrite(m *tableMeta, void map[common.Hash]bool) (tables []tableMeta, err error) {
	r, err := b.openTable(m)
	if err != nil {
		return nil, err
	}
	t := &tableWriter{b: b, opts: &b.rowOptions, cut: tableBytes}
	for {
		var ok bool
		if ok, err = r.next(); !ok {
			break
		}
		if void[common.Hash(r.key[1:accountKeyLen])] {
			continue
		}
		if err = t.set(r.key, r.row); err != nil {
			break
		}
	}
	if err = errors.Join(err, r.Close()); err != nil {
		t.discard()
		return nil, err
	}
	return t.take()
}

// admit makes tables, ranges and corrections part of the build.
func (b *Bulk) admit(tables []tableMeta, done []KeyRange, f *fixes) error {
	if len(tables) > 0 {
		if err := syncDir(b.fs, b.dir); err != nil {
			return fmt.Errorf("sync %s: %w", b.dir, err)
		}
	}
	if len(tables) == 0 && len(done) == 0 && f.len() == 0 {
		return nil
	}
	err := b.s.write(func(batch *pebble.Batch) error {
		errs := f.write(batch)
		if mutants.Active == mutants.ForgetCorrections {
			batch.Reset()
		}
		for i := range tables {
			row := appendTableRow(nil, &tables[i])
			errs = errors.Join(errs, batch.Set(tableKey(tables[i].id), row, nil))
		}
		for i := range done {
			errs = errors.Join(errs, batch.Set(rangeKey(&done[i]), []byte{1}, nil))
		}
		return errs
	})
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	b.mu.Lock()
	b.tables = append(b.tables, tables...)
	b.built = mergeRanges(append(b.built, done...))
	b.mu.Unlock()
	return nil
}
