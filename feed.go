package balsa

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// feedAccounts is how many accounts are asked for at a time.
const feedAccounts = 4096

// feedSlice is how many accounts are looked at before others may have the core.
const feedSlice = 128

// maxCodesNoted bounds the code hashes that are remembered to be looked up at the end.
const maxCodesNoted = 1 << 22

var lastHash = common.Hash(bytes.Repeat([]byte{0xff}, common.HashLength))

// feeder walks the account rows and asks for the storage trie of each that has one.
type feeder struct {
	client  storageClient
	reader  *state.BulkReader
	results *storageResults
	built   []state.KeyRange // by earlier runs

	scan   common.Hash // the first account that was not looked at
	next   common.Hash // the first account that was not asked for
	over   bool        // there is none
	batch  []messages.StorageAccount
	counts []slotCount

	codes     map[common.Hash]struct{} // of the accounts
	codesMore bool                     // and more
	progress  *progress
}

// storageClient is what the feeder needs of storageactor.Client.
type storageClient interface {
	Build(ctx context.Context, from, to common.Hash, accounts []messages.StorageAccount) error
}

// feed asks for what became loaded.
func (f *feeder) feed(ctx context.Context, l loaded) error {
	f.counts = append(f.counts, l.counts...)
	if err := f.reader.Refresh(); err != nil {
		return err
	}
	f.reader.SeekAccounts(&f.scan)
	for n := 1; ; n++ {
		if n%feedSlice == 0 {
			runtime.Gosched() // the workers have the cores; one that waits shall not wait for this
		}
		hash, slim, ok, err := f.reader.NextAccount()
		if err != nil {
			return err
		}
		if !ok || !l.all && bytes.Compare(hash[:], l.upTo[:]) >= 0 {
			break
		}
		if err := f.account(hash, slim); err != nil {
			return err
		}
		at := *hash // the reader's, which goes on
		f.scan, _ = behind(at)
		if len(f.batch) == feedAccounts || n%(16*feedAccounts) == 0 {
			if err := f.send(ctx, at); err != nil {
				return err
			}
		}
	}
	to := lastHash
	if !l.all {
		var ok bool
		if to, ok = before(l.upTo); !ok {
			return nil
		}
	}
	return f.send(ctx, to)
}

// account looks at an account row.
func (f *feeder) account(hash *common.Hash, slim []byte) error {
	a, err := state.DecodeSlim(slim)
	if err != nil {
		return fmt.Errorf("account %s: %w", hash, err)
	}
	if a.CodeHash != state.EmptyCodeHash && f.codes != nil {
		f.note(a.CodeHash)
	}
	if a.StorageRoot == trie.EmptyRoot || f.isBuilt(hash) {
		return nil
	}
	for len(f.counts) > 0 && bytes.Compare(f.counts[0].account[:], hash[:]) < 0 {
		f.counts = f.counts[1:]
	}
	m := messages.StorageAccount{Account: *hash, Stored: a.StorageRoot}
	if len(f.counts) > 0 && f.counts[0].account == *hash {
		m.Leaves = f.counts[0].slots
	}
	f.batch = append(f.batch, m)
	return nil
}

func (f *feeder) note(code common.Hash) {
	if _, ok := f.codes[code]; ok {
		return
	}
	if len(f.codes) == maxCodesNoted {
		f.codesMore = true
		return
	}
	f.codes[code] = struct{}{}
}

// isBuilt says whether an earlier run built the account. Accounts ascend.
func (f *feeder) isBuilt(hash *common.Hash) bool {
	if f.over || bytes.Compare(hash[:], f.next[:]) < 0 {
		return true
	}
	for _, r := range f.built {
		if bytes.Compare(hash[:], r.To[:]) <= 0 {
			return bytes.Compare(hash[:], r.From[:]) >= 0
		}
	}
	return false
}

// send asks for the accounts of the batch, and for what lies between them up to to, but for the
// ranges that are built.
func (f *feeder) send(ctx context.Context, to common.Hash) error {
	batch := f.batch
	f.batch = nil // the old one goes away with the message
	f.results.expect(batch)
	for f.dropBuilt(); !f.over && bytes.Compare(f.next[:], to[:]) <= 0; f.dropBuilt() {
		end, piece := to, batch
		if len(f.built) > 0 && bytes.Compare(f.built[0].From[:], to[:]) <= 0 {
			end, _ = before(f.built[0].From) // next lies before it
			n := 0
			for n < len(batch) && bytes.Compare(batch[n].Account[:], end[:]) <= 0 {
				n++
			}
			piece = batch[:n:n]
		}
		if err := f.client.Build(ctx, f.next, end, piece); err != nil {
			return err
		}
		batch = batch[len(piece):]
		f.advance(end)
	}
	f.progress.asked.Store(binary.BigEndian.Uint64(to[:8]))
	f.progress.tell()
	return errors.Join(f.results.err(), ctx.Err())
}

// dropBuilt steps over the built ranges that next lies in or behind.
func (f *feeder) dropBuilt() {
	for len(f.built) > 0 && bytes.Compare(f.built[0].From[:], f.next[:]) <= 0 && !f.over {
		r := f.built[0]
		f.built = f.built[1:]
		if bytes.Compare(r.To[:], f.next[:]) >= 0 {
			f.advance(r.To)
		}
	}
}

// advance sets next behind a hash, or notes that there is nothing behind it.
func (f *feeder) advance(to common.Hash) {
	n, ok := behind(to)
	f.next, f.over = n, !ok
}

// behind is the hash after h; false for the last one.
func behind(h common.Hash) (common.Hash, bool) {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]++; h[i] != 0 {
			return h, true
		}
	}
	return h, false
}

// before is the hash before h; false for the first one.
func before(h common.Hash) (common.Hash, bool) {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]--; h[i] != 0xff {
			return h, true
		}
	}
	return h, false
}

// storageResults collects what became of the accounts. It is safe for concurrent use.
type storageResults struct {
	progress *progress

	mu          sync.Mutex
	stored      map[common.Hash]common.Hash // of accounts that are asked for
	failed      uint64
	first       error // of the first that failed
	differing   []common.Hash
	different   uint64
	orphans     uint64
	orphanSlots uint64
}

func newStorageResults(p *progress) *storageResults {
	return &storageResults{progress: p, stored: make(map[common.Hash]common.Hash)}
}

// expect notes accounts that are about to be asked for.
func (s *storageResults) expect(accounts []messages.StorageAccount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range accounts {
		s.stored[accounts[i].Account] = accounts[i].Stored
	}
}

// built takes results; it is called by the client.
func (s *storageResults) built(results []messages.StorageResult, orphans []messages.OrphanStorage) {
	s.take(results, orphans)
	s.progress.tell()
}

func (s *storageResults) take(results []messages.StorageResult, orphans []messages.OrphanStorage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range results {
		r := &results[i]
		stored := s.stored[r.Account]
		delete(s.stored, r.Account)
		switch {
		case r.Err != nil:
			if s.failed++; s.first == nil {
				s.first = r.Err
			}
			continue
		case r.Root != stored && stored != UnknownRoot:
			s.different++
			if len(s.differing) < balactor.MaxNamedAccounts {
				s.differing = append(s.differing, r.Account)
			}
		}
		s.progress.storageTries.Add(1)
		s.progress.leaves.Add(uint64(r.Leaves))
	}
	for _, o := range orphans {
		s.orphans++
		s.orphanSlots += uint64(o.Slots)
	}
}

// err says which accounts failed.
func (s *storageResults) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		return nil
	}
	return fmt.Errorf("the storage of %d accounts could not be built, the first: %w", s.failed,
		s.first)
}
