package storageactor

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/trie"
)

// builder does a worker's jobs. It keeps one view of the flat rows and one trie builder from job to
// job; the tries of a job share them, so that the lanes of the hasher fill across tries, and one
// iterator goes through all of their leaves without a seek in between.
type builder struct {
	store Store
	clock func() time.Time

	reader     Reader // nil: to be opened
	generation uint64 // of the reader's view

	tries *trie.Builder
	sink  rowSink
	ids   []int // of the units' tries, -1: none

	yield func() // lets others have the core
	slice int    // leaves until then
}

const (
	// sliceLeaves is how many leaves a builder takes before it lets others have the core: some
	// tenths of a millisecond.
	sliceLeaves = 512
	// sliceUnit is what a unit counts besides its leaves.
	sliceUnit = 8
)

// spend counts work, in leaves, and yields when a slice is over.
func (b *builder) spend(leaves int) {
	if b.slice -= leaves; b.slice <= 0 {
		b.slice = sliceLeaves
		b.yield()
	}
}

func newBuilder(s Store, clock func() time.Time) *builder {
	b := &builder{store: s, clock: clock, yield: runtime.Gosched, slice: sliceLeaves}
	b.tries = trie.NewBuilder(trie.Options{Sink: &b.sink})
	return b
}

// rowSink puts rows into the buffer of the job in hand. A tag is a unit's index.
type rowSink struct {
	units []messages.TrieUnit
	rows  Rows
	count []int
}

// PutBranch implements trie.Sink.
func (s *rowSink) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	s.count[tag]++
	if u := &s.units[tag]; !u.AccountTrie {
		return s.rows.PutStorageBranch(&u.Account, p, b)
	}
	return s.rows.PutAccountBranch(p, b)
}

// DeleteBranch implements trie.Sink. A build deletes nothing.
func (s *rowSink) DeleteBranch(uint32, trie.Path) error { return nil }

func (b *builder) begin(units []messages.TrieUnit, rows Rows) {
	b.tries.Reset()
	b.sink = rowSink{units: units, rows: rows, count: append(b.sink.count[:0],
		make([]int, len(units))...)}
	b.ids = b.ids[:0]
}

// build does a BuildTries: the tries one after the other, then their hashes together.
func (b *builder) build(m *messages.BuildTries, rows Rows) []messages.TrieOutcome {
	if m.Fresh {
		rows.Discard()
	}
	b.begin(m.Units, rows)
	out := make([]messages.TrieOutcome, len(m.Units))
	for i := range m.Units {
		start := b.clock()
		b.ids = append(b.ids, -1)
		b.unit(m, i, &out[i])
		b.spend(sliceUnit)
		out[i].Duration = b.clock().Sub(start)
	}
	_ = b.tries.Flush() // its error is one trie's, which tells it itself
	for i := range m.Units {
		b.finish(i, &m.Units[i], &out[i])
	}
	return out
}

// errTooLarge ends a trie that is handed back.
var errTooLarge = errors.New("more leaves than the limit")

func (b *builder) unit(m *messages.BuildTries, i int, o *messages.TrieOutcome) {
	u := &m.Units[i]
	c, err := b.cursor(u, m.Generation)
	if err == nil && u.Sweep {
		o.Orphans, err = b.sweep(u)
	}
	if err != nil || u.Bare {
		o.Err = err
		return
	}
	b.tries.Begin(uint32(i))
	if err := b.leaves(c, u, m.Limit, o); err != nil {
		b.tries.Abort(err)
	}
	if u.Part {
		var p trie.Part
		if p, o.Err = b.tries.EndPart(); o.Err == nil {
			o.Part = &p
		}
		return
	}
	b.ids[i], o.Err = b.tries.End()
}

// leaves streams a unit's leaves into its trie.
func (b *builder) leaves(c cursor, u *messages.TrieUnit, limit int, o *messages.TrieOutcome) error {
	c.seek(&u.Prefix.Key)
	for {
		key, value, ok, err := c.next()
		if err != nil {
			b.closeReader()
			return fmt.Errorf("%w: %w", ErrRead, err)
		}
		if !ok || u.Prefix.Len > 0 && !u.Prefix.HasKey(key) && o.Leaves > 0 {
			return nil
		}
		if u.Prefix.Len > 0 && !u.Prefix.HasKey(key) {
			if key.Cmp(u.Prefix.Key) < 0 {
				return fmt.Errorf("%w: %s before %v", trie.ErrKeyOrder, *key, u.Prefix)
			}
			return nil
		}
		if err := b.tries.Leaf(key, value); err != nil {
			return err
		}
		o.Leaves++
		b.spend(1)
		if n := o.Leaves; limit > 0 && u.Source == nil && n&(n-1) == 0 || n > limit {
			if e := estimate(n, key, u.Prefix.Len); limit > 0 && u.Source == nil &&
				(n > limit || n >= minEstimated && e > 2*limit) {
				o.Estimate = e
				return errTooLarge
			}
		}
	}
}

// minEstimated is the number of leaves from which on their density says when to hand a unit back.
const minEstimated = 1024

// finish takes a unit's result once everything is hashed. A unit that failed has no rows.
func (b *builder) finish(i int, u *messages.TrieUnit, o *messages.TrieOutcome) {
	if id := b.ids[i]; id >= 0 && o.Err == nil {
		if o.Err = b.tries.Err(id); o.Err == nil {
			o.Root = b.tries.Root(id)
			o.Err = checkRoot(u, o.Root)
		}
	}
	o.Rows = b.sink.count[i]
	if o.Err == nil {
		return
	}
	if o.Rows > 0 && !u.AccountTrie {
		b.sink.rows.Drop(&u.Account)
	}
	o.Rows, o.Part, o.Root = 0, nil, common.Hash{}
	if o.Estimate > 0 {
		o.Err = nil
		return
	}
	o.Err = named(u, o.Err)
}

// checkRoot compares a storage root with the expected one.
func checkRoot(u *messages.TrieUnit, root common.Hash) error {
	if u.Expected == (common.Hash{}) || u.Expected == root {
		return nil
	}
	return &RootMismatchError{Account: u.Account, Want: u.Expected, Got: root}
}

// named says whose error it is.
func named(u *messages.TrieUnit, err error) error {
	var mismatch *RootMismatchError
	if u.AccountTrie || errors.As(err, &mismatch) {
		return err
	}
	return fmt.Errorf("account %s: %w", u.Account, err)
}

// join does a JoinTrie.
func (b *builder) join(m *messages.JoinTrie, rows Rows) messages.TrieOutcome {
	start := b.clock()
	if m.Fresh {
		rows.Discard()
	}
	units := []messages.TrieUnit{m.Unit}
	b.begin(units, rows)
	b.tries.Begin(0)
	for i := range m.Parts {
		if err := b.tries.AddPart(&m.Parts[i]); err != nil {
			b.tries.Abort(err)
			break
		}
	}
	var o messages.TrieOutcome
	id, err := b.tries.End()
	b.ids, o.Err = append(b.ids, id), err
	_ = b.tries.Flush() // its error is the trie's, which tells it itself
	b.finish(0, &m.Unit, &o)
	o.Duration = b.clock().Sub(start)
	return o
}

// survey does a SurveyTrie.
func (b *builder) survey(m *messages.SurveyTrie) (*messages.TrieSurveyed, error) {
	u := &m.Unit
	out := &messages.TrieSurveyed{Job: m.Job}
	c, err := b.cursor(u, m.Generation)
	if err != nil {
		return out, named(u, err)
	}
	if u.Source != nil {
		if err := checkOrder(u.Source); err != nil {
			return out, named(u, err)
		}
	}
	if u.Sweep {
		if out.Orphans, err = b.sweep(u); err != nil {
			return out, named(u, err)
		}
	}
	s := surveyor{cursor: c, leaves: m.PartLeaves, most: m.MaxParts}
	if err := s.split(u.Prefix); err != nil {
		b.closeReader()
		return out, named(u, fmt.Errorf("%w: %w", ErrRead, err))
	}
	out.Parts = make([]messages.TrieUnit, len(s.parts))
	for i, p := range s.parts {
		part := *u
		part.Prefix, part.Leaves, part.Sweep, part.Part = p.path, p.leaves, false, true
		out.Parts[i] = part
	}
	return out, nil
}

// cursor gives a unit's leaves; it opens or refreshes the view of the flat rows where that is read.
func (b *builder) cursor(u *messages.TrieUnit, generation uint64) (cursor, error) {
	if u.Source != nil {
		return &sliceCursor{leaves: u.Source}, nil
	}
	if err := b.view(generation); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRead, err)
	}
	if u.AccountTrie {
		return &accountCursor{reader: b.reader}, nil
	}
	return &slotCursor{b.reader, u.Account}, nil
}

// view opens or refreshes the view of the flat rows.
func (b *builder) view(generation uint64) (err error) {
	switch {
	case b.reader == nil:
		b.reader, err = b.store.NewReader()
	case b.generation < generation:
		err = b.reader.Refresh()
	}
	if err != nil {
		b.closeReader()
		return err
	}
	b.generation = generation
	return nil
}

// closeReader has the view opened anew: after an error it is not trusted any more.
func (b *builder) closeReader() {
	if b.reader != nil {
		_ = b.reader.Close() // what it read is told already, or was read well
		b.reader = nil
	}
}

// sweep looks for slot rows without an account, from the unit's SweepFrom up to its account.
func (b *builder) sweep(u *messages.TrieUnit) (orphans []messages.OrphanStorage, err error) {
	var after *common.Hash
	if u.SweepFrom != (common.Hash{}) {
		before := predecessor(u.SweepFrom)
		after = &before
	}
	for {
		account, ok, err := b.reader.NextStorageAccount(after)
		if err != nil {
			b.closeReader()
			return nil, fmt.Errorf("%w: %w", ErrRead, err)
		}
		d := account.Cmp(u.Account)
		if !ok || d > 0 || d == 0 && !u.Bare {
			return orphans, nil
		}
		n, err := b.count(&account)
		if err != nil {
			return nil, err
		}
		orphans = append(orphans, messages.OrphanStorage{Account: account, Slots: n})
		if d == 0 {
			return orphans, nil
		}
		after = &account
	}
}

func (b *builder) count(account *common.Hash) (n int, err error) {
	b.reader.SeekSlots(account, &common.Hash{})
	for {
		_, _, ok, err := b.reader.NextSlot()
		if err != nil {
			b.closeReader()
			return 0, fmt.Errorf("%w: %w", ErrRead, err)
		}
		if !ok {
			return n, nil
		}
		n++
		b.spend(1)
	}
}
