package world

import (
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Errors of operations.
var (
	// ErrBalance: a balance would leave the range of 256 bits.
	ErrBalance = errors.New("the balance leaves its range")
	// ErrOrphanSlot: a sweep met an empty account with a slot that was written and is not zero. No
	// execution does that: only code sets slots, and an account with code is not empty.
	ErrOrphanSlot = errors.New("a slot is left to an account that does not exist afterwards")
)

// State is a block's world state over its parent's. It is for one goroutine, and is used again for
// the next block after Reset. After an error it is worth nothing until then.
type State struct {
	parent Parent
	hasher Hasher

	index   map[common.Address]int32 // into objects
	objects []object
	slotAt  map[slotKey]int32 // into slots
	slots   []slot
	codes   []Code // the first two stand for parentCode and noCode
	hashed  int    // codes with a hash; the others get theirs when one is asked for
	codeAt  map[uint64]int32
	seed    maphash.Seed

	touched   []int32 // objects; an object may be there twice, or be touched no more
	changes   []fieldEntry
	writes    []slotEntry
	snapshots []mark

	accountRoom, slotRoom int // that the tables have had to have

	last   common.Address // that object found
	lastAt int32          // -1: none
	out    commit
}

// fields are what an operation changes of an account, and what the journal remembers of it.
type fields struct {
	balance uint256.Int
	nonce   uint64
	code    int32 // in State.codes
	exists  bool
	touched bool // since the last sweep
}

// Values of fields.code that are no code of the block's.
const (
	parentCode int32 = iota // the code that the parent has
	noCode                  // none
	firstCode
)

// object is an account that the block has met.
type object struct {
	fields
	first   int32 // of its slots; -1: none
	existed bool
	cleared bool // by a sweep: the parent's slots count no more
	pre     Account
	address common.Address
	hash    common.Hash
}

// slot is a slot that the block has met.
type slot struct {
	object    int32
	next      int32 // of the object's; -1: none
	written   bool  // since the object was swept
	hashed    bool
	key, hash common.Hash
	pre, cur  common.Hash
}

type slotKey struct {
	object int32
	key    common.Hash
}

// New returns a State over a parent. A nil Hasher means NewScalar.
func New(p Parent, h Hasher) *State {
	if h == nil {
		h = NewScalar()
	}
	s := &State{
		hasher: h, seed: maphash.MakeSeed(),
		index: map[common.Address]int32{}, slotAt: map[slotKey]int32{}, codeAt: map[uint64]int32{},
	}
	s.Reset(p)
	return s
}

// Reset forgets everything and stands on another parent. What Commit returned is worth nothing
// afterwards.
func (s *State) Reset(p Parent) {
	s.parent = p
	s.shrink()
	clear(s.index)
	clear(s.slotAt)
	clear(s.codeAt)
	clear(s.codes)
	s.objects, s.slots, s.codes = s.objects[:0], s.slots[:0], append(s.codes[:0], Code{}, Code{})
	s.codes[noCode].Hash, s.hashed = EmptyCodeHash, int(firstCode)
	s.touched, s.changes, s.writes = s.touched[:0], s.changes[:0], s.writes[:0]
	s.snapshots, s.lastAt = s.snapshots[:0], -1
}

// shrink gives tables up that the last block hardly used: clearing one costs what it has room for.
func (s *State) shrink() {
	if n := len(s.objects); n*shrinkAt < s.accountRoom {
		s.index, s.accountRoom = make(map[common.Address]int32, n), n
	} else {
		s.accountRoom = max(s.accountRoom, n)
	}
	if n := len(s.slots); n*shrinkAt < s.slotRoom {
		s.slotAt, s.slotRoom = make(map[slotKey]int32, n), n
	} else {
		s.slotRoom = max(s.slotRoom, n)
	}
}

// shrinkAt is how much more room than it used a table may have.
const shrinkAt = 16

// Grow makes room for that many more accounts and slots at once.
func (s *State) Grow(accounts, slots int) {
	if len(s.index) == 0 && cap(s.objects) < accounts {
		s.index = make(map[common.Address]int32, accounts)
		s.objects = make([]object, 0, accounts)
		s.accountRoom = accounts
	}
	if len(s.slotAt) == 0 && cap(s.slots) < slots {
		s.slotAt = make(map[slotKey]int32, slots)
		s.slots = make([]slot, 0, slots)
		s.slotRoom = slots
	}
}

// WarmAccount gives an account as the parent has it, with the hash of its address, so that the
// parent is not asked. It is not for accounts that the State has met.
func (s *State) WarmAccount(a common.Address, hash common.Hash, pre Account, existed bool) {
	i := int32(len(s.objects))
	s.objects = append(s.objects, object{
		first: -1, existed: existed, address: a, hash: hash,
	})
	o := &s.objects[i]
	if o.pre = pre; !existed {
		o.pre = NewAccount()
	}
	o.exists, o.nonce, o.balance = existed, o.pre.Nonce, o.pre.Balance
	s.index[a] = i
	s.last, s.lastAt = a, i
}

// WarmSlot gives a slot as the parent has it, with the hash of its key, so that the parent is not
// asked. The account was warmed before, and the slot was not.
func (s *State) WarmSlot(a common.Address, key, hash, value common.Hash) {
	i := s.lastAt
	if s.last != a || i < 0 {
		i = s.index[a]
	}
	s.addSlot(i, slot{object: i, hashed: true, key: key, hash: hash, pre: value, cur: value})
}

func (s *State) addSlot(of int32, v slot) int32 {
	j := int32(len(s.slots))
	o := &s.objects[of]
	v.next, o.first = o.first, j
	s.slots = append(s.slots, v)
	s.slotAt[slotKey{of, v.key}] = j
	return j
}

// object finds an account, and reads it from the parent the first time.
func (s *State) object(a common.Address) (int32, error) {
	if s.lastAt >= 0 && s.last == a {
		return s.lastAt, nil
	}
	if i, ok := s.index[a]; ok {
		s.last, s.lastAt = a, i
		return i, nil
	}
	hash := s.hasher.Sum(a[:])
	pre, existed, err := s.parent.Account(hash)
	if err != nil {
		return 0, fmt.Errorf("account %s: %w", a, err)
	}
	s.WarmAccount(a, hash, pre, existed)
	return s.lastAt, nil
}

// slot finds a slot, and reads it from the parent the first time.
func (s *State) slot(of int32, key common.Hash) (int32, error) {
	if j, ok := s.slotAt[slotKey{of, key}]; ok {
		return j, nil
	}
	o := &s.objects[of]
	v := slot{object: of, key: key}
	if o.pre.StorageRoot != EmptyRoot {
		v.hash, v.hashed = s.hasher.Sum(key[:]), true
		var err error
		if v.pre, err = s.parent.Slot(o.hash, v.hash); err != nil {
			return 0, fmt.Errorf("account %s: slot %s: %w", o.address, key, err)
		}
		if !o.cleared {
			v.cur = v.pre
		}
	}
	return s.addSlot(of, v), nil
}

// codeOf finds or adds a code. Equal codes are one.
func (s *State) codeOf(code []byte) int32 {
	if len(code) == 0 {
		return noCode
	}
	sum := maphash.Bytes(s.seed, code)
	if i, ok := s.codeAt[sum]; ok && string(s.codes[i].Code) == string(code) {
		return i
	}
	i := int32(len(s.codes))
	s.codes = append(s.codes, Code{Code: code})
	s.codeAt[sum] = i
	return i
}

func (s *State) codeHash(o *object) common.Hash {
	if o.code == parentCode {
		return o.pre.CodeHash
	}
	if int(o.code) >= s.hashed {
		s.hashCodes()
	}
	return s.codes[o.code].Hash
}

// hasCode is codeHash without hashing.
func (s *State) hasCode(o *object) bool {
	return o.code >= firstCode || o.code == parentCode && o.pre.CodeHash != EmptyCodeHash
}

// hashCodes hashes the codes that nobody asked the hash of yet, all together.
func (s *State) hashCodes() {
	var in [][]byte
	for i := s.hashed; i < len(s.codes); i++ {
		in = append(in, s.codes[i].Code)
	}
	out := make([]common.Hash, len(in))
	s.hasher.SumAll(out, in)
	for i := range out {
		s.codes[s.hashed+i].Hash = out[i]
	}
	s.hashed = len(s.codes)
}
