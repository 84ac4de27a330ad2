package simulation

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// anything stands for a value that is not compared.
const anything = "*"

// rowsAt are all rows that a store has at a block, but for `m` rows: flat rows by the oracle,
// branch rows as they come out of building each trie from nothing (whose roots have to be the
// oracle's), and the blocks of the branch. How a store got there makes no difference to them.
func (r *run) rowsAt(b *block) map[string]string {
	if b.rows != nil {
		return b.rows
	}
	rows := map[string]string{}
	s := &rowSink{rows: rows}
	builder := trie.NewBuilder(trie.Options{Sink: s})
	builder.Begin(0)
	for _, addr := range byHash(b.world, addrHashes) {
		a, h := b.world[addr], addrHashes[addr]
		st := a.state()
		rows["a"+string(h[:])] = string(types.SlimAccountRLP(st))
		for slot, v := range a.slots {
			sh := slotHashes[slot]
			rows["s"+string(h[:])+string(sh[:])] = string(slotRLP(v))
		}
		r.storageRows(rows, h, a)
		full, err := rlp.EncodeToBytes(&st)
		if err != nil {
			panic(err)
		}
		if err := builder.Leaf(&h, full); err != nil {
			r.fail("building the oracle's account trie: %v", err)
		}
	}
	r.finish(builder, b.header.Root, "account trie")
	for h, c := range b.codesAt() {
		rows["c"+string(h[:])] = string(c)
	}
	for at := b; at != nil; at = at.parent {
		number := binary.BigEndian.AppendUint64(nil, at.number())
		header, err := rlp.EncodeToBytes(at.header)
		if err != nil {
			panic(err)
		}
		rows["h"+string(number)+string(at.hash[:])] = string(header)
		rows["n"+string(at.hash[:])] = string(number)
		if at.parent != nil {
			rows["b"+string(at.hash[:])] = string(at.list)
			rows["r"+string(number)+string(at.hash[:])] = anything // proven by rewinding
		}
	}
	b.rows = rows
	return rows
}

func (r *run) storageRows(rows map[string]string, h common.Hash, a *account) {
	if len(a.slots) == 0 {
		return
	}
	builder := trie.NewBuilder(trie.Options{Sink: &rowSink{rows: rows, account: &h}})
	builder.Begin(0)
	for _, slot := range byHash(a.slots, slotHashes) {
		sh := slotHashes[slot]
		if err := builder.Leaf(&sh, slotRLP(a.slots[slot])); err != nil {
			r.fail("building the oracle's storage trie: %v", err)
		}
	}
	r.finish(builder, a.storageRoot(), "storage trie")
}

// finish ends a builder's trie, whose root has to be go-ethereum's.
func (r *run) finish(b *trie.Builder, want common.Hash, what string) {
	id, err := b.End()
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		r.fail("building the oracle's %s: %v", what, err)
	} else if got := b.Root(id); got != want {
		r.fail("I2: the %s built from nothing has root %s, go-ethereum's is %s", what, got, want)
	}
}

// rowSink collects branch rows as a store has them.
type rowSink struct {
	rows    map[string]string
	account *common.Hash // nil: the account trie
}

// PutBranch implements trie.Sink.
func (s *rowSink) PutBranch(_ uint32, p trie.Path, b trie.Branch) error {
	key := []byte{'A'}
	if s.account != nil {
		key = append([]byte{'S'}, s.account[:]...)
	}
	for i := range p.Len {
		key = append(key, p.Nibble(i))
	}
	s.rows[string(key)] = string(b.AppendTo(nil))
	return nil
}

// DeleteBranch implements trie.Sink.
func (s *rowSink) DeleteBranch(_ uint32, p trie.Path) error {
	return fmt.Errorf("a build deleted %v", p)
}

// compareRows compares a store with what it should be, row for row.
func (r *run) compareRows(store *state.Store, b *block, why string) {
	want := r.rowsAt(b)
	seen := 0
	digest := fnv.New64a()
	err := store.Rows(func(key, value []byte) error {
		if key[0] == 'm' || key[0] == 'l' { // the log is judged by what it leads to
			return nil
		}
		digest.Write(key)
		digest.Write(value)
		w, ok := want[string(key)]
		switch {
		case !ok:
			r.fail("%s: the store at %s has the row %x = %x, which does not belong there", why,
				name(b), key, value)
		case w != anything && w != string(value):
			r.fail("%s: the store at %s has the row %x = %x, want %x", why, name(b), key, value, w)
		}
		seen++
		return nil
	})
	if err != nil {
		r.fail("%s: reading all rows: %v", why, err)
	}
	if seen < len(want) && r.err == nil {
		r.fail("%s: the store at %s lacks the rows %x", why, name(b), missing(store, want))
	}
	r.note("==", "%s: %s, %d rows, digest %x", why, name(b), seen, digest.Sum64())
}

func missing(store *state.Store, want map[string]string) []string {
	left := maps.Clone(want)
	_ = store.Rows(func(key, _ []byte) error {
		delete(left, string(key))
		return nil
	})
	keys := slices.Sorted(maps.Keys(left))
	return keys[:min(len(keys), 5)]
}

func name(b *block) string { return fmt.Sprintf("block %d (%x)", b.number(), b.hash[:4]) }
