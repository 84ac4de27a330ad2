package trie

import (
	"fmt"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// Options configure a Builder or an Updater. The zero value is ready for use.
type Options struct {
	// Hasher hashes the nodes; nil means keccak.New(). A builder is its only user.
	Hasher keccak.Hasher
	// Sink takes the branch rows; nil means that only roots are wanted.
	Sink Sink
}

// Builder makes tries from sorted items, one trie after the other, and hashes the nodes of all of
// them together. Begin starts a trie, Leaf, Ref and Subtree add its items in ascending order of
// key, End ends it; after Flush, Root gives its root.
//
// A Builder is not safe for concurrent use. It is reusable after Reset, and in steady state it
// allocates nothing per leaf or node.
type Builder struct {
	hasher keccak.Hasher
	sink   Sink
	reader Reader // tells what a lone reference stands for; nil outside updates

	nodes pool
	queue queue

	// stack[1:top+1] are the branches that can still get children, each within the one before.
	// stack[0] stands for the place of the root.
	stack [keyNibbles + 1]*node
	top   int
	depth uint64 // bit d: a branch of depth d is on the stack

	last  item        // the item that came last
	key   common.Hash // its key or path
	items int         // counted over all tries

	cur    *build   // the open trie
	builds []*chunk // all tries since Reset; they never move, as hashes are written into them
	begun  int
	late   error // of tries that failed after their End, since the last Flush

	large   []byte           // a leaf too large for a node
	scratch [maxRefsLen]byte // a row's references
}

// build is one trie of a builder.
type build struct {
	root  common.Hash
	err   error // why it failed; sticky
	tag   uint32
	ended bool
}

type chunk [256]build

type itemKind uint8

const (
	noItem     itemKind = iota // none came yet
	placedItem                 // it is in its parent already
	leafItem
	refItem
	branchItem
)

// item is an item of the stream that waits for the next one to tell where it is attached.
type item struct {
	kind     itemKind
	sub      bool // of a reference: a branch lies at or below it
	refLen   uint8
	pathLen  int   // in nibbles; 64 for a leaf
	valueLen int   // of a leaf
	node     *node // of a leaf of middle size, or the branch
	ref      [hashRefLen]byte
}

// NewBuilder returns a builder for full builds, or for parts of a trie given as references.
func NewBuilder(o Options) *Builder {
	b := &Builder{hasher: o.Hasher, sink: o.Sink}
	if b.hasher == nil {
		b.hasher = keccak.New()
	}
	b.queue.init(b.hasher.Lanes())
	b.stack[0] = &node{depth: -1}
	return b
}

// Begin starts a trie. The Sink gets the tag with each of its rows; it need not be unique. A trie
// that is still open fails with ErrNotEnded.
func (b *Builder) Begin(tag uint32) {
	if b.cur != nil {
		b.Abort(ErrNotEnded)
		b.End()
	}
	if b.begun/len(chunk{}) == len(b.builds) {
		b.builds = append(b.builds, new(chunk))
	}
	b.cur = b.build(b.begun)
	*b.cur = build{tag: tag}
	b.begun++
}

func (b *Builder) build(id int) *build { return &b.builds[id/len(chunk{})][id%len(chunk{})] }

// Leaf adds a leaf. The value is copied before Leaf returns. Errors: ErrKeyOrder,
// ErrDuplicateKey, ErrEmptyValue, ErrValueTooLarge, or why the trie failed before; after an error
// the trie takes no more items.
func (b *Builder) Leaf(key *common.Hash, value []byte) error {
	cur := b.cur
	if cur == nil || cur.err != nil || isEmptyValue(value) || len(value) > MaxValueLen {
		return b.refuse(key, value)
	}
	if b.advance(key, keyNibbles) {
		b.holdLeaf(value)
	}
	return cur.err
}

// refuse says why the open trie does not take a leaf.
func (b *Builder) refuse(key *common.Hash, value []byte) error {
	if err := b.usable(); err != nil {
		return err
	}
	if isEmptyValue(value) {
		return b.fail(fmt.Errorf("%w: leaf %v", ErrEmptyValue, *key))
	}
	return b.fail(fmt.Errorf("%w: leaf %v: %d bytes", ErrValueTooLarge, *key, len(value)))
}

// Ref adds an untouched child subtree: the node that lies at p, as the RLP of the branch at depth
// p.Len-1 has it (0xa0 and its hash, or an embedded node); sub says whether a branch lies at or
// below it. That branch must stay, which is known when an item beside p exists. Errors: as Leaf,
// ErrBadPath, ErrBadBranch for what is no reference; ErrLoneRef comes with the next item or End.
func (b *Builder) Ref(p Path, ref []byte, sub bool) error {
	if err := b.usable(); err != nil {
		return err
	}
	if p.Len < 1 || p.Len > keyNibbles {
		return b.fail(fmt.Errorf("%w: reference at %d nibbles", ErrBadPath, p.Len))
	}
	if len(ref) == 0 || refLen(ref) != len(ref) {
		return b.fail(fmt.Errorf("%w: reference of %v: %x", ErrBadBranch, p, ref))
	}
	p = PathOf(p.Key, p.Len)
	return b.addRef(&p.Key, p.Len, ref, sub)
}

// Subtree adds an untouched branch, the one at path p: its row is not written, its reference is
// computed from the row, with the extension above it where its new parent lies further up.
// Errors: as Leaf, ErrBadPath, ErrBadBranch.
func (b *Builder) Subtree(p Path, br Branch) error {
	if err := b.usable(); err != nil {
		return err
	}
	if p.Len < 0 || p.Len >= keyNibbles {
		return b.fail(fmt.Errorf("%w: branch at %d nibbles", ErrBadPath, p.Len))
	}
	if err := br.check(); err != nil {
		return b.fail(fmt.Errorf("branch %v: %w", p, err))
	}
	p = PathOf(p.Key, p.Len)
	if !b.advance(&p.Key, p.Len) {
		return b.cur.err
	}
	b.last = item{kind: branchItem, pathLen: p.Len, node: b.rowNode(p.Len, &br)}
	return b.cur.err
}

// Abort fails the open trie with err, for a caller whose source of items failed; End returns it.
// It does nothing if no trie is open or if the trie has failed already; no error is ErrNotEnded.
func (b *Builder) Abort(err error) {
	if err == nil {
		err = ErrNotEnded
	}
	if b.cur != nil && b.cur.err == nil {
		b.fail(err)
	}
}

// End ends the trie. It returns the id for Root and Err, and why the trie failed, if it did.
func (b *Builder) End() (id int, err error) {
	cur := b.cur
	if cur == nil {
		return -1, ErrNotBegun
	}
	if cur.err == nil {
		b.finish()
	}
	if cur.err != nil {
		b.drop()
	}
	b.last.kind = noItem
	b.cur = nil
	cur.ended = true
	return b.begun - 1, cur.err
}

// Flush hashes all nodes that can be hashed, those of an open trie too. It returns the error of a
// trie that failed after its End, if there is one: Err tells which.
func (b *Builder) Flush() error {
	b.flush()
	err := b.late
	b.late = nil
	return err
}

// Root returns the root of trie id: valid after Flush, until Reset. A failed trie has none, which
// the zero hash stands for.
func (b *Builder) Root(id int) common.Hash {
	if id < 0 || id >= b.begun || b.build(id).err != nil {
		return common.Hash{}
	}
	return b.build(id).root
}

// Err says why trie id failed, nil if it did not: final after Flush, valid until Reset.
func (b *Builder) Err(id int) error {
	if id < 0 || id >= b.begun {
		return ErrNotBegun
	}
	return b.build(id).err
}

// Reset forgets all tries, an open one and unhashed nodes included.
func (b *Builder) Reset() {
	b.queue.clear()
	b.nodes.reset()
	b.top, b.depth = 0, 0
	b.last.kind = noItem
	b.cur, b.begun, b.late = nil, 0, nil
}

// isEmptyValue tells a value that no leaf can have: nothing, or the RLP of nothing.
func isEmptyValue(v []byte) bool { return len(v) == 0 || len(v) == 1 && v[0] == 0x80 }

// usable says why the open trie takes no items, if so.
func (b *Builder) usable() error {
	if b.cur == nil {
		return ErrNotBegun
	}
	if b.cur.err != nil {
		b.drop()
	}
	return b.cur.err
}

// fail fails the open trie.
func (b *Builder) fail(err error) error {
	b.cur.err = err
	b.drop()
	return err
}

// failBuild fails a trie that may have ended, without touching its nodes.
func (b *Builder) failBuild(t *build, err error) {
	if t.err != nil {
		return
	}
	t.err = err
	if t.ended && b.late == nil {
		b.late = fmt.Errorf("trie with tag %d: %w", t.tag, err)
	}
}
