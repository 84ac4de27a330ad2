package balsa

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// rowCheck takes the rows that a rebuild makes and looks each up in the store. A storage trie's tag
// is the account's place in the batch.
type rowCheck struct {
	v       *verifier
	storage bool
}

// PutBranch implements trie.Sink.
func (c rowCheck) PutBranch(tag uint32, p trie.Path, b trie.Branch) error {
	v := c.v
	rows, name, present := v.reader.AccountTrie(), "account trie", &v.inTop
	if c.storage {
		account := v.pending[tag].hash
		rows, present = v.reader.StorageTrie(account), &v.compared[tag]
		name = "storage trie of account " + account.Hex()
	}
	v.report.Branches++
	at, got, ok, err := rows.FirstBranch(p)
	if errors.Is(err, state.ErrBadRow) {
		*present++ // there it is
		v.fault("%s: the branch row %v: %v", name, p, err)
		return nil
	}
	if err != nil {
		return err
	}
	if !ok || at != p {
		v.fault("%s: the branch row %v is missing", name, p)
		return nil
	}
	*present++
	if got.Mask != b.Mask || got.Sub != b.Sub || !bytes.Equal(got.Refs, b.Refs) {
		v.fault("%s: the branch row %v differs from what flat state gives", name, p)
	}
	return nil
}

// DeleteBranch implements trie.Sink. A rebuild deletes nothing.
func (c rowCheck) DeleteBranch(_ uint32, p trie.Path) error {
	return fmt.Errorf("a rebuild deleted the branch row %v", p)
}

// storedRows walks the storage tries' rows beside the accounts, to find rows that no trie has.
type storedRows struct {
	it   *state.BranchIter
	more bool
}

func (s *storedRows) open(sn *state.Snapshot, bad func(string, []byte)) {
	s.it = sn.AllStorageBranches()
	s.it.SkipBad(bad)
	s.more = s.it.Next()
}

// surplus compares the number of the account's rows with those that its trie has. Rows of accounts
// before it belong to none.
func (v *verifier) surplus(account common.Hash, compared uint64) error {
	s := &v.stored
	var count uint64
	for s.more {
		h := s.it.AccountHash()
		c := bytes.Compare(h[:], account[:])
		if c > 0 {
			break
		}
		if c < 0 {
			v.fault("branch row %v: its account %s does not exist", s.it.Key(), h)
		} else {
			count++
		}
		s.more = s.it.Next()
	}
	if count > compared {
		v.fault("storage trie of account %s: the store has %d branch rows that it does not have",
			account, count-compared)
	}
	return s.it.Error()
}

// surplusAtEnd does the same for what lies behind the last account, and for the account trie.
func (v *verifier) surplusAtEnd() error {
	for s := &v.stored; s.more; s.more = s.it.Next() {
		v.fault("branch row %v: its account %s does not exist", s.it.Key(), s.it.AccountHash())
	}
	if err := v.stored.it.Error(); err != nil {
		return err
	}
	it := v.sn.Branches(common.Hash{}, false)
	it.SkipBad(v.badKey)
	defer it.Close()
	var count uint64
	for it.Next() {
		count++
	}
	if count > v.inTop {
		v.fault("account trie: the store has %d branch rows that it does not have", count-v.inTop)
	}
	return it.Error()
}
