package state

import (
	"bytes"
	"fmt"

	"github.com/balsa-sync/balsa/trie"
	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// markSpace is the key space of marks in the recent rows, never of rows in Pebble: an account with
// a mark has had storage rows of some kind written lately.
const markSpace = 't'

// trieReader reads one trie: the account trie, or the storage trie of account.
type trieReader struct {
	r       *Reader
	storage bool
	account common.Hash
}

var _ trie.Reader = (*trieReader)(nil)

// AccountTrie gives the account trie. Bytes that it returns stay valid until the Reader is closed.
func (r *Reader) AccountTrie() trie.Reader { return &trieReader{r: r} }

// StorageTrie gives an account's storage trie. Bytes that it returns stay valid until the Reader
// is closed.
func (r *Reader) StorageTrie(account common.Hash) trie.Reader {
	return &trieReader{r: r, storage: true, account: account}
}

// owner is the account of a storage trie, nil for the account trie.
func (t *trieReader) owner() *common.Hash {
	if t.storage {
		return &t.account
	}
	return nil
}

// FirstBranch returns the branch with the least path that has prefix p; false if there is none.
func (t *trieReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	path, b, ok, err := t.firstBranch(p)
	if err != nil {
		return trie.Path{}, trie.Branch{}, false, t.wrap("branch", p, err)
	}
	return path, b, ok, nil
}

func (t *trieReader) firstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	r := t.r
	if r.v == nil {
		return trie.Path{}, trie.Branch{}, false, ErrClosed
	}
	if p.Len < 0 || p.Len > maxPathLen {
		return trie.Path{}, trie.Branch{}, false, nil
	}
	space := seekAccountBranch
	if t.storage {
		space = seekStorageBranch
	}
	key := appendBranchKey(r.key[:0], t.owner(), &p)
	// The row at p itself is the first of all with this prefix.
	value, st := r.v.recentRow(key)
	if st == rowPresent {
		return t.branch(p, value)
	}
	found, value, err := t.first(space, key, st)
	if found == nil || err != nil {
		return trie.Path{}, trie.Branch{}, false, err
	}
	if len(found) > len(key) {
		if p, err = parsePath(found[len(key)-p.Len:]); err != nil {
			return trie.Path{}, trie.Branch{}, false, err
		}
	}
	return t.branch(p, r.mem.copy(value))
}

func (t *trieReader) branch(p trie.Path, row []byte) (trie.Path, trie.Branch, bool, error) {
	b, err := trie.DecodeBranch(row)
	if err != nil {
		return p, b, false, corrupt(err)
	}
	return p, b, true, nil
}

// FirstLeaf returns the leaf with the least key below p; false if there is none. The value is the
// account's consensus RLP, or the slot's row.
func (t *trieReader) FirstLeaf(p trie.Path) (common.Hash, []byte, bool, error) {
	key, value, ok, err := t.firstLeaf(p)
	if err != nil {
		return common.Hash{}, nil, false, t.wrap("leaf", p, err)
	}
	return key, value, ok, nil
}

func (t *trieReader) firstLeaf(p trie.Path) (leaf common.Hash, value []byte, ok bool, err error) {
	r := t.r
	if r.v == nil {
		return leaf, nil, false, ErrClosed
	}
	if p.Len < 0 || p.Len > maxPathLen {
		return leaf, nil, false, nil
	}
	space := seekAccount
	key := append(r.key[:0], spaceAccount)
	if t.storage {
		space = seekSlot
		key = appendHashKey(r.key[:0], spaceSlot, &t.account)
	}
	owner := len(key)
	key = append(key, p.Key[:]...)
	found, value, err := r.firstLeafRow(space, key, owner, &p, t.changedLately)
	if found == nil || err != nil {
		return leaf, nil, false, err
	}
	copy(leaf[:], found[owner:])
	if t.storage {
		if _, err := splitSlot(value); err != nil {
			return leaf, nil, false, corrupt(err)
		}
		return leaf, r.mem.copy(value), true, nil
	}
	a, err := decodeAccountRow(&leaf, value)
	if err != nil {
		return leaf, nil, false, err
	}
	return leaf, a.AppendFull(r.mem.alloc(maxAccountLen)[:0]), true, nil
}

// changedLately reports whether rows of the trie may be among the recent ones. Where they are not,
// tables alone know the first row below a path.
func (t *trieReader) changedLately() bool {
	if len(t.r.v.gens) == 0 {
		return false
	}
	if !t.storage {
		return true
	}
	var key [accountKeyLen]byte
	_, st := t.r.v.recentRow(appendHashKey(key[:0], markSpace, &t.account))
	return st != rowUnknown
}

func (t *trieReader) wrap(what string, p trie.Path, err error) error {
	if t.storage {
		return fmt.Errorf("%s at %v of the storage of account %x: %w", what, p, t.account, err)
	}
	return fmt.Errorf("%s at %v of the account trie: %w", what, p, err)
}

// first returns the first row whose key has the given prefix, nil if there is none. st is what the
// recent rows say of the key itself, and it is not rowPresent. The result is valid until the next
// call.
func (t *trieReader) first(space int, key []byte, st rowState) (found, value []byte, err error) {
	r := t.r
	inFiles := r.v.files != nil
	it, err := r.seeker(space, inFiles)
	if err != nil {
		return nil, nil, err
	}
	near, behind := &r.near[space], false
	if inFiles && st == rowUnknown {
		// Nearly always the row has this very key.
		var ok bool
		if t.storage {
			ok = near.find(it, &t.account, key)
			behind = near.standing
		} else {
			ok = it.SeekPrefixGE(key)
		}
		if found, value, err = rowAt(it, ok); found != nil || err != nil {
			return found, value, err
		}
	}
	if t.changedLately() {
		near.leave()
		return r.v.firstRow(it, space, key, len(key))
	}
	if !behind {
		near.leave()
		it.SeekGE(key)
	}
	return rowAt(it, it.Valid() && bytes.HasPrefix(it.Key(), key))
}

// firstLeafRow returns the first row at or after key, whose first owner bytes it shares, and below
// path p with the rest; nil if there is none.
func (r *Reader) firstLeafRow(
	space int, key []byte, owner int, p *trie.Path, changed func() bool,
) (found, value []byte, err error) {
	it, err := r.seeker(space, r.v.files != nil)
	if err != nil {
		return nil, nil, err
	}
	r.near[space].leave()
	if changed() {
		found, value, err = r.v.firstRow(it, space, key, owner+p.Len/2)
	} else {
		found, value, err = rowAt(it, it.SeekGE(key))
	}
	if err != nil || len(found) != len(key) || !bytes.Equal(found[:owner], key[:owner]) {
		return nil, nil, err
	}
	if h := (*common.Hash)(found[owner:]); !p.HasKey(h) {
		return nil, nil, nil
	}
	return found, value, nil
}

// rowAt returns the row that the iterator stands at; ok is false where it stands at none.
func rowAt(it *pebble.Iterator, ok bool) (key, value []byte, err error) {
	if !ok {
		return nil, nil, readError(it.Error())
	}
	value, err = it.ValueAndErr()
	if err != nil {
		return nil, nil, readError(err)
	}
	return it.Key(), value, nil
}
