package trie

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/ethereum/go-ethereum/common"
)

// Updater applies sorted changes to tries that a Reader gives, one trie after the other, and
// hashes the nodes of all of them together, as a Builder does. It reads only the branch rows on
// the way to changes, and leaves only where the structure around an untouched one changes.
//
// Every row of the new trie that differs goes to Sink.PutBranch, every row whose branch is gone to
// Sink.DeleteBranch. An Updater is not safe for concurrent use; it is reusable after Reset.
type Updater struct {
	b *Builder
}

// NewUpdater returns an Updater.
func NewUpdater(o Options) *Updater { return &Updater{b: NewBuilder(o)} }

// Update applies cs, sorted by key, to the trie that r gives; empty says that the trie is known to
// have no leaves, so that nothing is read. Without changes it recomputes the root. It returns the
// id for Root and Err, and why the trie failed, if it did: ErrKeyOrder, ErrDuplicateKey,
// ErrValueTooLarge, ErrStaleChange, ErrMissingNode, ErrBadBranch, or an error of r or the Sink.
// The changes are not referred to any more when it returns.
func (u *Updater) Update(tag uint32, r Reader, empty bool, cs []Change) (id int, err error) {
	u.b.Begin(tag)
	u.b.reader = r
	if err := u.walk(empty, cs); err != nil {
		u.b.Abort(err)
	}
	id, err = u.b.End()
	u.b.reader = nil
	return id, err
}

// Flush hashes all that is pending; see Builder.Flush.
func (u *Updater) Flush() error { return u.b.Flush() }

// Root returns the root of trie id; see Builder.Root.
func (u *Updater) Root(id int) common.Hash { return u.b.Root(id) }

// Err says why trie id failed; see Builder.Err.
func (u *Updater) Err(id int) error { return u.b.Err(id) }

// Reset forgets all tries; see Builder.Reset.
func (u *Updater) Reset() { u.b.Reset() }

// deletes reports whether c removes its leaf.
func (c *Change) deletes() bool { return isEmptyValue(c.Value) }

// checkChanges says what is wrong with the order of cs, if anything is.
func checkChanges(cs []Change) error {
	for i := 1; i < len(cs); i++ {
		switch c := bytes.Compare(cs[i-1].Key[:], cs[i].Key[:]); {
		case c == 0:
			return fmt.Errorf("%w: change of %v", ErrDuplicateKey, cs[i].Key)
		case c > 0:
			return fmt.Errorf("%w: change of %v behind %v", ErrKeyOrder, cs[i].Key, cs[i-1].Key)
		}
	}
	return nil
}

// walk streams the whole new trie.
func (u *Updater) walk(empty bool, cs []Change) error {
	if err := checkChanges(cs); err != nil {
		return err
	}
	if empty {
		return u.inserts(cs)
	}
	r := u.b.reader
	p, br, ok, err := r.FirstBranch(Path{})
	if err != nil {
		return fmt.Errorf("first branch: %w", err)
	}
	if ok {
		if err := checkRow(Path{}, p, br); err != nil {
			return err
		}
		return u.branch(p, &br, cs)
	}
	// No row: a single leaf or nothing.
	for i := range cs {
		if cs[i].Existed {
			return u.beside(nil, nil, cs)
		}
	}
	key, value, ok, err := r.FirstLeaf(Path{})
	if err != nil {
		return fmt.Errorf("first leaf: %w", err)
	}
	if !ok {
		return u.inserts(cs)
	}
	return u.beside(&key, value, cs)
}

// inserts streams changes where the trie has no leaf.
func (u *Updater) inserts(cs []Change) error {
	for i := range cs {
		c := &cs[i]
		if c.Existed || c.deletes() {
			return fmt.Errorf("%w: %v is absent", ErrStaleChange, c.Key)
		}
		if err := u.b.Leaf(&c.Key, c.Value); err != nil {
			return err
		}
	}
	return nil
}

// beside streams changes where the trie has a single leaf: the given one, or, if key is nil, the
// one change that says that its leaf existed.
func (u *Updater) beside(key *common.Hash, value []byte, cs []Change) error {
	found := key != nil
	for i := range cs {
		c := &cs[i]
		if key != nil {
			switch order := bytes.Compare(key[:], c.Key[:]); {
			case order == 0:
				return fmt.Errorf("%w: %v exists", ErrStaleChange, c.Key)
			case order < 0:
				if err := u.b.Leaf(key, value); err != nil {
					return err
				}
				key = nil
			}
		}
		if c.Existed && found || !c.Existed && c.deletes() {
			return fmt.Errorf("%w: %v is absent", ErrStaleChange, c.Key)
		}
		found = found || c.Existed
		if c.deletes() {
			continue
		}
		if err := u.b.Leaf(&c.Key, c.Value); err != nil {
			return err
		}
	}
	if key != nil {
		return u.b.Leaf(key, value)
	}
	return nil
}

// branch streams the branch at p, the only one of the trie outside of which changes of cs may lie:
// those are leaves beside it.
func (u *Updater) branch(p Path, br *Branch, cs []Change) error {
	lo := 0
	for lo < len(cs) && bytes.Compare(cs[lo].Key[:], p.Key[:]) < 0 {
		lo++
	}
	hi := lo
	for hi < len(cs) && p.HasKey(&cs[hi].Key) {
		hi++
	}
	if err := u.inserts(cs[:lo]); err != nil {
		return err
	}
	var err error
	if lo == hi {
		err = u.b.Subtree(p, *br)
	} else {
		err = u.row(p, br, cs[lo:hi])
	}
	if err != nil {
		return err
	}
	return u.inserts(cs[hi:])
}

// row streams the branch at p, in which all of cs lie, and drops its row if it is a branch no more.
func (u *Updater) row(p Path, br *Branch, cs []Change) error {
	before := u.b.items
	mask, refs := br.Mask, br.Refs
	for len(cs) > 0 {
		x := nibble(&cs[0].Key, p.Len)
		n := 1
		for n < len(cs) && nibble(&cs[n].Key, p.Len) == x {
			n++
		}
		run := mask & (1<<x - 1)
		used, err := u.b.addRefs(&p, run, br.Sub, refs)
		if err != nil {
			return err
		}
		mask, refs = mask&^run, refs[used:]
		if mask>>x&1 != 0 {
			mask &^= 1 << x
			refs = refs[refLen(refs):]
		}
		if err := u.child(p.Child(x), br, cs[:n]); err != nil {
			return err
		}
		cs = cs[n:]
	}
	if _, err := u.b.addRefs(&p, mask, br.Sub, refs); err != nil {
		return err
	}
	return u.settle(p, before)
}

// settle drops the row at p unless the items since before made a branch there. If they did, it is
// on the stack: the item at its second child opened it, and nothing has come that lies outside.
func (u *Updater) settle(p Path, before int) error {
	b := u.b
	if b.items != before && b.depth>>p.Len&1 != 0 {
		return nil
	}
	if b.sink == nil {
		return nil
	}
	if err := b.sink.DeleteBranch(b.cur.tag, p); err != nil {
		return fmt.Errorf("delete branch %v: %w", p, err)
	}
	return nil
}

// child streams the child at p of the branch br with changes below it.
func (u *Updater) child(p Path, br *Branch, cs []Change) error {
	x := p.Nibble(p.Len - 1)
	switch {
	case br.Mask>>x&1 == 0:
		return u.inserts(cs)
	case br.Sub>>x&1 != 0:
		bp, child, err := firstBranch(u.b.reader, p)
		if err != nil {
			return err
		}
		return u.branch(bp, &child, cs)
	}
	for i := range cs {
		if cs[i].Existed {
			return u.beside(nil, nil, cs)
		}
	}
	key, value, err := firstLeaf(u.b.reader, p)
	if err != nil {
		return err
	}
	return u.beside(&key, value, cs)
}

// addRefs adds the children in run of the branch at p as untouched; refs begins with the first of
// them. It returns the bytes of refs that they took.
func (b *Builder) addRefs(p *Path, run, sub uint16, refs []byte) (used int, err error) {
	for ; run != 0; run &= run - 1 {
		x := byte(bits.TrailingZeros16(run))
		if b.last.kind == placedItem && b.last.pathLen == p.Len+1 && p.HasKey(&b.key) {
			break
		}
		n := refLen(refs[used:])
		key := p.Child(x).Key
		if err := b.addRef(&key, p.Len+1, refs[used:used+n], sub>>x&1 != 0); err != nil {
			return 0, err
		}
		used += n
	}
	if run == 0 {
		return used, nil
	}
	// The last item is a child of the same branch, which therefore stays, and is the stack's top.
	n := refsLen(refs[used:], bits.OnesCount16(run))
	b.stack[b.top].addRefs(run, sub, refs[used:used+n])
	b.key = p.Child(byte(bits.Len16(run) - 1)).Key
	b.items++
	return used + n, nil
}

// firstBranch reads the branch that must be at or below p.
func firstBranch(r Reader, p Path) (Path, Branch, error) {
	bp, br, ok, err := r.FirstBranch(p)
	if err != nil {
		return Path{}, Branch{}, fmt.Errorf("branch below %v: %w", p, err)
	}
	if !ok {
		return Path{}, Branch{}, fmt.Errorf("%w: branch below %v", ErrMissingNode, p)
	}
	return bp, br, checkRow(p, bp, br)
}

// checkRow checks the row of the branch at bp, which was read as the first below p.
func checkRow(p, bp Path, br Branch) error {
	if bp.Len >= keyNibbles || bp.Len < 0 || !bp.HasPrefix(p) || bp != PathOf(bp.Key, bp.Len) {
		return fmt.Errorf("%w: branch below %v: got that at %v", ErrMissingNode, p, bp)
	}
	if err := br.check(); err != nil {
		return fmt.Errorf("branch %v: %w", bp, err)
	}
	return nil
}

// firstLeaf reads the leaf that must be below p.
func firstLeaf(r Reader, p Path) (common.Hash, []byte, error) {
	key, value, ok, err := r.FirstLeaf(p)
	if err != nil {
		return key, nil, fmt.Errorf("leaf below %v: %w", p, err)
	}
	if !ok || !p.HasKey(&key) {
		return key, nil, fmt.Errorf("%w: leaf below %v", ErrMissingNode, p)
	}
	return key, value, nil
}
