package balsa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// ErrVerify says that the store contradicts itself; a Report names what was found.
var ErrVerify = errors.New("the store does not verify")

// MaxFaults bounds the faults that a Report names.
const MaxFaults = 100

// Report is what Verify found.
type Report struct {
	Cursor   state.Cursor
	Root     common.Hash // recomputed from flat state
	Accounts uint64
	Slots    uint64
	Branches uint64 // branch rows compared
	Codes    uint64
	// MissingCodes counts accounts whose code the store lacks. They are faults, unless the state was
	// built without codes.
	MissingCodes uint64
	Headers      uint64
	BALs         uint64 // block access lists
	Diffs        uint64 // reverse diffs
	// Faults names the first contradictions, a sentence each.
	Faults []string
	// FaultCount counts them all.
	FaultCount uint64
}

// verifyBatch is how many storage tries are hashed together.
const verifyBatch = 64

// Verify recomputes every trie from flat state and compares each branch row, each storage root and
// the state root with what the store holds (I2), and each code with its hash. The headers must
// lead from the cursor to the block that the store was built at, and each has its number, its
// access list with the right hash, and its reverse diff. Rows beside those are faults. It works on
// the state at the cursor, beside blocks that are applied meanwhile. progress, which may be nil, is
// called now and then with the hash of the account that it has come to; the rest is logged.
//
// With faults, rows that do not decode among them, the error is ErrVerify; any other error means
// that it could not go on.
func (e *Engine) Verify(ctx context.Context, progress func(common.Hash)) (Report, error) {
	if err := e.enter(); err != nil {
		return Report{}, err
	}
	defer e.inFlight.Done() // after view and reader are closed
	view, err := e.view()
	if err != nil {
		return Report{}, err
	}
	defer view.Close()
	v, err := newVerifier(ctx, view, e.opts.Logger)
	if err != nil {
		return Report{}, err
	}
	defer v.reader.Close()
	if err := v.run(progress); err != nil {
		return v.report, err
	}
	if v.report.FaultCount > 0 {
		return v.report, fmt.Errorf("%w: %d faults, the first: %s",
			ErrVerify, v.report.FaultCount, v.report.Faults[0])
	}
	return v.report, nil
}

// verifier rebuilds the storage tries in batches, and the account trie above them.
type verifier struct {
	sn       *state.Snapshot
	reader   *state.Reader
	report   Report
	accounts *trie.Builder
	storage  *trie.Builder
	inTop    uint64          // account trie rows that the store has
	slots    *state.SlotIter // stands at the first slot not taken yet
	more     bool            // there is one
	stored   storedRows
	pending  []pendingAccount
	compared []uint64 // of the batch: rows of each account's trie that the store has
	leaf     []byte
	pace     pace
	noCodes  bool // codes may be missing
}

// pendingAccount waits for its storage trie to be hashed.
type pendingAccount struct {
	hash    common.Hash
	account state.Account
	trie    int // the builder's number; -1: no slots
}

func newVerifier(ctx context.Context, view *View, log *slog.Logger) (*verifier, error) {
	v := &verifier{sn: view.sn, pace: pace{ctx: ctx, log: log, latest: time.Now()}}
	v.report.Cursor = view.cursor
	var err error
	if v.noCodes, err = v.sn.CodesMayBeMissing(); err != nil {
		return nil, err
	}
	if v.reader, err = view.sn.NewReader(); err != nil {
		return nil, err
	}
	v.accounts = trie.NewBuilder(trie.Options{Sink: rowCheck{v: v}})
	v.storage = trie.NewBuilder(trie.Options{Sink: rowCheck{v: v, storage: true}})
	return v, nil
}

func (v *verifier) fault(format string, args ...any) {
	v.report.FaultCount++
	if len(v.report.Faults) < MaxFaults {
		v.report.Faults = append(v.report.Faults, fmt.Sprintf(format, args...))
	}
}

func (v *verifier) run(progress func(common.Hash)) error {
	if err := v.history(); err != nil {
		return err
	}
	v.slots = v.sn.AllSlots()
	v.slots.SkipBad(v.badKey)
	defer v.slots.Close()
	v.more = v.slots.Next()
	v.stored.open(v.sn, v.badKey)
	defer v.stored.it.Close()
	v.accounts.Begin(0)
	it := v.sn.Accounts(common.Hash{})
	it.SkipBad(v.badKey)
	defer it.Close()
	for it.Next() {
		if err := v.account(it); err != nil {
			return err
		}
		if len(v.pending) == verifyBatch {
			if err := v.flush(); err != nil {
				return err
			}
			if progress != nil {
				progress(it.Key())
			}
			if err := v.pace.ctx.Err(); err != nil {
				return err
			}
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	if err := v.orphans(nil); err != nil {
		return err
	}
	if err := v.flush(); err != nil {
		return err
	}
	return v.finish()
}

// account starts one account: its storage trie is built, but not hashed yet.
func (v *verifier) account(it *state.AccountIter) error {
	hash := it.Key()
	a, err := it.Account()
	if err != nil {
		v.fault("%v", err) // its slots will be told to have no account
		return nil
	}
	v.report.Accounts++
	if err := v.orphans(&hash); err != nil {
		return err
	}
	// The row check may look it up as soon as the trie has a leaf.
	v.pending = append(v.pending, pendingAccount{hash: hash, account: a, trie: -1})
	v.compared = append(v.compared, 0)
	if v.more && v.slots.AccountHash() == hash {
		id, err := v.buildStorage(hash)
		if err != nil {
			return err
		}
		v.pending[len(v.pending)-1].trie = id
	}
	if a.CodeHash != state.EmptyCodeHash {
		held, err := v.sn.HasCode(a.CodeHash)
		if err != nil {
			return err
		}
		if !held {
			v.report.MissingCodes++
		}
		if !held && !v.noCodes {
			v.fault("account %s: its code %s is not in the store", hash, a.CodeHash)
		}
	}
	return nil
}

// orphans steps over slots whose account, which would lie before the given one, is not there.
func (v *verifier) orphans(before *common.Hash) error {
	for v.more {
		h := v.slots.AccountHash()
		if before != nil && bytes.Compare(h[:], before[:]) >= 0 {
			return nil
		}
		v.fault("slot %s: its account %s does not exist", v.slots.Key(), h)
		if err := v.pace.step("slots"); err != nil {
			return err
		}
		v.more = v.slots.Next()
	}
	return v.slots.Error()
}

func (v *verifier) buildStorage(account common.Hash) (int, error) {
	v.storage.Begin(uint32(len(v.pending) - 1))
	for v.more && v.slots.AccountHash() == account {
		key := v.slots.Key()
		if err := v.pace.step("slots"); err != nil {
			return 0, err
		}
		if _, err := state.DecodeSlot(v.slots.Value()); err != nil {
			v.fault("slot %s of account %s: %v", key, account, err)
		} else if err := v.storage.Leaf(&key, v.slots.Value()); err != nil {
			return 0, fmt.Errorf("account %s: %w", account, err)
		}
		v.report.Slots++
		v.more = v.slots.Next()
	}
	if err := v.slots.Error(); err != nil {
		return 0, err
	}
	id, err := v.storage.End()
	if err != nil {
		err = fmt.Errorf("account %s: %w", account, err)
	}
	return id, err
}

// flush hashes the batch's storage tries and hands the accounts to the account trie.
func (v *verifier) flush() error {
	if err := v.storage.Flush(); err != nil {
		return err
	}
	for i := range v.pending {
		p := &v.pending[i]
		root := trie.EmptyRoot
		if p.trie >= 0 {
			root = v.storage.Root(p.trie)
		}
		if root != p.account.StorageRoot {
			v.fault("account %s: its slots have root %s, the account says %s",
				p.hash, root, p.account.StorageRoot)
		}
		if err := v.surplus(p.hash, v.compared[i]); err != nil {
			return err
		}
		p.account.StorageRoot = root
		v.leaf = p.account.AppendFull(v.leaf[:0])
		if err := v.accounts.Leaf(&p.hash, v.leaf); err != nil {
			return err
		}
	}
	v.pending, v.compared = v.pending[:0], v.compared[:0]
	v.storage.Reset()
	return nil
}

// finish checks the account trie and the codes.
func (v *verifier) finish() error {
	id, err := v.accounts.End()
	if err == nil {
		err = v.accounts.Flush()
	}
	if err != nil {
		return err
	}
	v.report.Root = v.accounts.Root(id)
	if v.report.Root != v.report.Cursor.Root {
		v.fault("the flat state has root %s, the cursor says %s",
			v.report.Root, v.report.Cursor.Root)
	}
	if err := v.surplusAtEnd(); err != nil {
		return err
	}
	return v.codes()
}

func (v *verifier) codes() error {
	it := v.sn.Codes()
	it.SkipBad(v.badKey)
	defer it.Close()
	for it.Next() {
		v.report.Codes++
		if got := keccak.Sum(it.Value()); got != it.Key() {
			v.fault("code %s hashes to %s", it.Key(), got)
		}
		if err := v.pace.step("codes"); err != nil {
			return err
		}
	}
	return it.Error()
}
