package world

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// flat is a parent in memory, by hashes.
type flat struct {
	accounts map[common.Hash]Account
	slots    map[common.Hash]map[common.Hash]common.Hash
	fail     error // of every read
}

func newFlat() *flat {
	return &flat{
		accounts: map[common.Hash]Account{}, slots: map[common.Hash]map[common.Hash]common.Hash{},
	}
}

func (f *flat) Account(h common.Hash) (Account, bool, error) {
	a, ok := f.accounts[h]
	return a, ok, f.fail
}

func (f *flat) Slot(a, s common.Hash) (common.Hash, error) { return f.slots[a][s], f.fail }

func (f *flat) EachSlot(a common.Hash, do func(slot, value common.Hash) error) error {
	for s, v := range f.slots[a] {
		if err := do(s, v); err != nil {
			return err
		}
	}
	return f.fail
}

// plain is an account of the model, which copies everything at every snapshot.
type plain struct {
	nonce   uint64
	balance uint64
	code    string
	slots   map[common.Hash]common.Hash // no zeros
	written map[common.Hash]bool
	touched bool
}

type model map[common.Address]*plain

func (m model) clone() model {
	c := model{}
	for a, p := range m {
		q := *p
		q.slots, q.written = maps.Clone(p.slots), maps.Clone(p.written)
		c[a] = &q
	}
	return c
}

func (m model) touch(a common.Address) *plain {
	if m[a] == nil {
		m[a] = &plain{slots: map[common.Hash]common.Hash{}, written: map[common.Hash]bool{}}
	}
	m[a].touched = true
	return m[a]
}

// sweep reports whether an empty account has a written slot left.
func (m model) sweep() (orphan bool) {
	for a, p := range m {
		if p.touched && p.nonce == 0 && p.balance == 0 && p.code == "" {
			for s := range p.slots {
				orphan = orphan || p.written[s]
			}
			delete(m, a)
		}
		p.touched = false
	}
	return orphan
}

// flat turns the model into a parent. Storage roots are stand-ins: empty or not.
func (m model) flat() *flat {
	f := newFlat()
	for a, p := range m {
		h := crypto.Keccak256Hash(a[:])
		acc := NewAccount()
		acc.Nonce, acc.Balance = p.nonce, *uint256.NewInt(p.balance)
		acc.CodeHash = crypto.Keccak256Hash([]byte(p.code))
		f.slots[h] = map[common.Hash]common.Hash{}
		for s, v := range p.slots {
			acc.StorageRoot = common.Hash{1}
			f.slots[h][crypto.Keccak256Hash(s[:])] = v
		}
		f.accounts[h] = acc
	}
	return f
}

func addresses() []common.Address {
	var list []common.Address
	for i := range byte(5) {
		list = append(list, common.Address{0xaa, i})
	}
	return list
}

var (
	anAddress = rapid.SampledFrom(addresses())
	aKey      = rapid.Custom(func(t *rapid.T) common.Hash {
		return common.Hash{31: rapid.ByteRange(0, 3).Draw(t, "key")}
	})
	aValue = rapid.Custom(func(t *rapid.T) common.Hash {
		return common.Hash{31: rapid.ByteRange(0, 2).Draw(t, "value")}
	})
	aCode   = rapid.SampledFrom([]string{"", "a", "b", "a longer code"})
	anInt   = rapid.Uint64Range(0, 2)
	aParent = rapid.Custom(func(t *rapid.T) model {
		m := model{}
		for _, a := range addresses() {
			if !rapid.Bool().Draw(t, "there") {
				continue
			}
			p := m.touch(a)
			p.touched = false
			p.nonce, p.balance = anInt.Draw(t, "nonce"), anInt.Draw(t, "balance")
			p.code = aCode.Draw(t, "code")
			for range rapid.IntRange(0, 3).Draw(t, "slots") {
				p.slots[aKey.Draw(t, "key")] = common.Hash{31: 7}
			}
		}
		return m
	})
)

// pair drives a State and its model alike.
type pair struct {
	t     *rapid.T
	state *State
	model model
	saved []model
	ids   []int
}

func (p *pair) must(err error) {
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) step() {
	t, s, a := p.t, p.state, anAddress.Draw(p.t, "address")
	switch rapid.IntRange(0, 8).Draw(t, "operation") {
	case 0:
		p.must(s.CreateAccount(a))
		p.model.touch(a)
	case 1:
		v := anInt.Draw(t, "wei")
		p.must(s.AddBalance(a, uint256.NewInt(v)))
		p.model.touch(a).balance += v
	case 2:
		v := anInt.Draw(t, "wei")
		if m := p.model[a]; v > 0 && (m == nil || m.balance < v) {
			if err := s.SubBalance(a, uint256.NewInt(v)); !errors.Is(err, ErrBalance) {
				t.Fatalf("taking too much: %v", err)
			}
			return
		}
		p.must(s.SubBalance(a, uint256.NewInt(v)))
		p.model.touch(a).balance -= v
	case 3:
		v := anInt.Draw(t, "nonce")
		p.must(s.SetNonce(a, v))
		p.model.touch(a).nonce = v
	case 4:
		v := aCode.Draw(t, "code")
		p.must(s.SetCode(a, []byte(v)))
		p.model.touch(a).code = v
	case 5, 6:
		k, v := aKey.Draw(t, "key"), aValue.Draw(t, "value")
		p.must(s.SetState(a, k, v))
		m := p.model.touch(a)
		m.written[k] = true
		if m.slots[k] = v; v == (common.Hash{}) {
			delete(m.slots, k)
		}
	case 7:
		p.saved, p.ids = append(p.saved, p.model.clone()), append(p.ids, s.Snapshot())
	case 8:
		if len(p.ids) > 0 {
			n := rapid.IntRange(0, len(p.ids)-1).Draw(t, "snapshot")
			s.RevertToSnapshot(p.ids[n])
			p.model, p.saved, p.ids = p.saved[n], p.saved[:n], p.ids[:n]
		}
	}
	p.read(a)
}

// read compares what the two say of an account.
func (p *pair) read(a common.Address) {
	m := p.model[a]
	exists, err := p.state.Exists(a)
	p.must(err)
	if exists != (m != nil) {
		p.t.Fatalf("%s exists: %v", a, exists)
	}
	if m == nil {
		m = &plain{}
	}
	nonce, err := p.state.GetNonce(a)
	p.must(err)
	balance, err := p.state.GetBalance(a)
	p.must(err)
	code, err := p.state.GetCodeHash(a)
	p.must(err)
	if nonce != m.nonce || balance.Uint64() != m.balance ||
		code != crypto.Keccak256Hash([]byte(m.code)) {
		p.t.Fatalf("%s: nonce %d, balance %s, code %s; want %+v", a, nonce, &balance, code, m)
	}
	k := aKey.Draw(p.t, "key")
	v, err := p.state.GetState(a, k)
	p.must(err)
	if v != m.slots[k] {
		p.t.Fatalf("%s, slot %s: %s, want %s", a, k, v, m.slots[k])
	}
}

func TestAStateIsItsModel(t *testing.T) {
	s := New(nil, nil) // used for all runs
	rapid.Check(t, func(t *rapid.T) {
		before := aParent.Draw(t, "parent")
		s.Reset(before.flat())
		p := &pair{t: t, state: s, model: before.clone()}
		for range rapid.IntRange(1, 3).Draw(t, "transactions") {
			for range rapid.IntRange(0, 20).Draw(t, "operations") {
				p.step()
			}
			if p.model.sweep() {
				if err := s.Sweep(); !errors.Is(err, ErrOrphanSlot) {
					t.Fatalf("a slot is left to an empty account: %v", err)
				}
				return
			}
			p.must(s.Sweep())
			p.saved, p.ids = nil, nil
		}
		got, err := s.Commit()
		p.must(err)
		if err := sameChanges(got, before, p.model); err != nil {
			t.Fatal(err)
		}
	})
}

// sameChanges checks that changes are exactly what lies between two models.
func sameChanges(got *Changes, before, after model) error {
	was, is := before.flat(), after.flat()
	seen := map[common.Hash]*AccountChange{}
	slots, last := 0, common.Hash{}
	for i := range got.Accounts {
		c := &got.Accounts[i]
		if bytes.Compare(last[:], c.Hash[:]) >= 0 {
			return fmt.Errorf("account %s does not ascend", c.Hash)
		}
		seen[c.Hash], last = c, c.Hash
		slots += len(c.Slots)
	}
	if slots != len(got.Slots) {
		return fmt.Errorf("accounts have %d slots of %d", slots, len(got.Slots))
	}
	for _, a := range addresses() {
		h := crypto.Keccak256Hash(a[:])
		if err := sameChange(seen[h], a, was, is); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	return nil
}

func sameChange(c *AccountChange, a common.Address, was, is *flat) error {
	h := crypto.Keccak256Hash(a[:])
	pre, existed := was.accounts[h]
	post, exists := is.accounts[h]
	want := map[common.Hash][2]common.Hash{}
	for s, v := range was.slots[h] {
		want[s] = [2]common.Hash{v, is.slots[h][s]}
	}
	for s, v := range is.slots[h] {
		want[s] = [2]common.Hash{was.slots[h][s], v}
	}
	maps.DeleteFunc(want, func(_ common.Hash, v [2]common.Hash) bool { return v[0] == v[1] })
	post.StorageRoot = pre.StorageRoot
	if existed == exists && pre == post && len(want) == 0 {
		if c != nil {
			return fmt.Errorf("changed: %+v", c)
		}
		return nil
	}
	switch {
	case c == nil:
		return errors.New("its change is missing")
	case c.Address != a || c.Existed != existed || c.Exists != exists ||
		existed && c.Pre != pre:
		return fmt.Errorf("%+v", c)
	case len(c.Slots) != len(want):
		return fmt.Errorf("%d slots, want %d", len(c.Slots), len(want))
	case !slices.IsSortedFunc(c.Slots, func(a, b SlotChange) int {
		return bytes.Compare(a.Hash[:], b.Hash[:])
	}):
		return errors.New("slots do not ascend")
	}
	for _, v := range c.Slots {
		if want[v.Hash] != [2]common.Hash{v.Pre, v.Post} {
			return fmt.Errorf("slot %s: %s -> %s", v.Hash, v.Pre, v.Post)
		}
	}
	if exists && (c.Post.Nonce != post.Nonce || c.Post.Balance != post.Balance ||
		c.Post.CodeHash != post.CodeHash) {
		return fmt.Errorf("%+v, want %+v", c.Post, post)
	}
	return nil
}
