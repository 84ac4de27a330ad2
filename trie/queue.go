package trie

import (
	"fmt"

	"github.com/balsa-sync/balsa/trie/keccak"
)

const (
	// poolNodes bounds the nodes that are open or wait to be hashed, and so a builder's memory
	// (some 330 KB). When every node that can be hashed has been, only those on the stack (at
	// most 64), the item that waits for the next one, and the branch and extension that are being
	// closed are left. Few tries need more than a tenth of it.
	poolNodes = 512
	// poolStep is the number of nodes by which the pool grows.
	poolStep = 16
)

// pool holds all nodes of a builder. The node released last is used first: it is in the cache.
type pool struct {
	free  [poolNodes]*node
	n     int // of free
	steps [][]node
}

func (p *pool) release(n *node) {
	p.free[p.n] = n
	p.n++
}

// grow adds free nodes, unless the pool is at its bound.
func (p *pool) grow() {
	if len(p.steps) == poolNodes/poolStep {
		return
	}
	step := make([]node, poolStep)
	p.steps = append(p.steps, step)
	for i := range step {
		p.release(&step[i])
	}
}

// reset takes all nodes back.
func (p *pool) reset() {
	if p.n == len(p.steps)*poolStep {
		return
	}
	p.n = 0
	for _, step := range p.steps {
		for i := range step {
			p.release(&step[i])
		}
	}
}

const (
	// minGroup and maxGroup bound the number of nodes that are hashed in one call.
	minGroup = 8
	maxGroup = 16

	// A ring has room for all that can be ready at once. A node joins one of maxBlocks rings, or
	// the leaves, when another is hashed, or alone where its ring is shorter than a group. So
	// together they hold less than one group each.
	ringLen = 8 * maxGroup
)

// ring holds nodes with the same number of blocks that wait for nothing but being hashed.
type ring struct {
	nodes      [ringLen]*node
	head, tail uint32
}

func (r *ring) len() int          { return int(r.tail - r.head) }
func (r *ring) at(i uint32) *node { return r.nodes[i%ringLen] }
func (r *ring) next() **node      { return &r.nodes[r.tail%ringLen] }
func (r *ring) add(n *node)       { *r.next() = n; r.tail++ }
func (r *ring) clear()            { r.head, r.tail = 0, 0 }

// Classes of nodes. Nodes with 1 to maxBlocks blocks are of the class with that number.
const (
	openClass = 0             // never complete: branches that can get children, a root's parent
	deadClass = maxBlocks + 1 // open branches of failed tries, released once complete
)

// queue holds what is complete: nodes by class, and small leaves.
type queue struct {
	ready  [8]ring // by class; of a power of two
	leaves leafRing
	group  int // nodes of one call: a multiple of the hasher's lanes, unless those are many
	msgs   [maxGroup]keccak.Message
}

func (q *queue) init(lanes int) {
	lanes = max(lanes, 1)
	q.group = min((minGroup+lanes-1)/lanes*lanes, maxGroup)
}

func (q *queue) clear() {
	for i := range q.ready {
		q.ready[i].clear()
	}
	q.leaves.clear()
}

// longest returns the class with the most nodes, 0 if none has at least least.
func (q *queue) longest(least int) int {
	best := 0
	for c := 1; c <= maxBlocks; c++ {
		if n := q.ready[c].len(); n >= least {
			best, least = c, n+1
		}
	}
	return best
}

// alloc takes a node from the pool, which is refilled by hashing what is queued.
func (b *Builder) alloc() *node {
	p := &b.nodes
	if p.n == 0 {
		b.refill()
	}
	p.n--
	return p.free[p.n]
}

func (b *Builder) refill() {
	b.nodes.grow()
	if b.nodes.n == 0 {
		b.flush()
	}
}

// enqueue queues a node whose encoding is complete.
func (b *Builder) enqueue(n *node) {
	r := &b.queue.ready[n.class%8]
	r.add(n)
	if r.len() >= b.queue.group {
		b.drain()
	}
}

// drain hashes whole groups, until there is none left.
func (b *Builder) drain() {
	for c := b.queue.longest(b.queue.group); c != 0; c = b.queue.longest(b.queue.group) {
		b.run(c)
	}
}

// flush hashes everything that can be hashed, in groups as large as they come. Small leaves go
// first, as all else waits for them.
func (b *Builder) flush() {
	for b.queue.leaves.len() > 0 {
		b.runLeaves()
	}
	if b.last.kind != leafItem { // none is held behind the others
		b.queue.leaves.clear()
	}
	for c := b.queue.longest(1); c != 0; c = b.queue.longest(1) {
		b.run(c)
	}
}

// run hashes one group of class c and hands the hashes on: rows whose references are complete go
// to the Sink, parents that wait for nothing more join the queue.
func (b *Builder) run(c int) {
	q := &b.queue
	r := &q.ready[c]
	from := r.head
	msgs := q.msgs[:min(r.len(), q.group)]
	for i := range msgs {
		n := r.at(from + uint32(i))
		msgs[i] = keccak.Message{Data: n.rlp(), Out: n.out}
	}
	b.hasher.Hash(msgs)
	for i := range msgs {
		n := r.at(from + uint32(i))
		if n.row {
			b.put(n)
		}
		b.nodes.release(n)
		q.hashed(n.parent)
	}
	r.head += uint32(len(msgs))
	b.bury()
}

// runLeaves hashes one group of small leaves.
func (b *Builder) runLeaves() {
	r := &b.queue.leaves
	from := int(r.head % leafSlots)
	to := min(from+min(r.len(), b.queue.group), leafSlots)
	b.hasher.Hash(r.msgs[from:to])
	r.head += uint32(to - from)
	for _, n := range r.parents[from:to] {
		b.queue.hashed(n)
	}
	b.bury()
}

// hashed tells a node that the hash of a child is there. Whether it is complete now is as good as
// random, so it is added to its ring without a branch, and taken for added if it is complete.
func (q *queue) hashed(n *node) {
	n.pending--
	r := &q.ready[n.class%8]
	*r.next() = n
	complete := uint32(0)
	if n.pending == 0 {
		complete = 1
	}
	r.tail += complete
}

// bury releases the nodes of failed tries into which nothing is written any more.
func (b *Builder) bury() {
	for r := &b.queue.ready[deadClass]; r.len() > 0; r.head++ {
		b.nodes.release(r.at(r.head))
	}
}

// put gives the row of branch n to the Sink.
func (b *Builder) put(n *node) {
	if n.trie.err != nil {
		return
	}
	p := PathOf(n.path, int(n.depth))
	err := b.sink.PutBranch(n.trie.tag, p, n.branch(&b.scratch))
	if err != nil {
		b.failBuild(n.trie, fmt.Errorf("put branch %v: %w", p, err))
	}
}
