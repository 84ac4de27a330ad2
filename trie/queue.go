package trie

import (
	"fmt"

	"github.com/balsa-sync/balsa/trie/keccak"
)

// poolNodes bounds the nodes that are open or wait to be hashed, and so a builder's memory (some
// 350 KB). When every node that can be hashed has been, only those on the stack (at most 64), the
// item that waits for the next one, and the branch and extension that are being closed are left.
const poolNodes = 512

// pool holds all nodes of a builder. The node released last is used first: it is in the cache.
type pool struct {
	nodes []node
	free  []*node
}

func (p *pool) init() {
	if p.nodes == nil {
		p.nodes = make([]node, poolNodes)
		p.free = make([]*node, 0, poolNodes)
	}
	if len(p.free) == poolNodes {
		return
	}
	p.free = p.free[:0]
	for i := range p.nodes {
		p.free = append(p.free, &p.nodes[i])
	}
}

func (p *pool) release(n *node) { p.free = append(p.free, n) }

// minGroup is the least number of nodes that are hashed in one call.
const minGroup = 8

// queue holds the nodes whose children are all hashed, by their number of Keccak blocks.
type queue struct {
	ready [maxBlocks + 1][]*node
	group int  // nodes of one call: a multiple of the hasher's lanes
	full  bool // one of ready may have a whole group
	msgs  []keccak.Message
	done  []*node
}

func (q *queue) init(lanes int) {
	lanes = max(lanes, 1)
	q.group = (minGroup + lanes - 1) / lanes * lanes
	for i := range q.ready {
		q.ready[i] = make([]*node, 0, poolNodes)
	}
	q.msgs = make([]keccak.Message, q.group)
	q.done = make([]*node, q.group)
}

func (q *queue) clear() {
	for i := range q.ready {
		q.ready[i] = q.ready[i][:0]
	}
	q.full = false
}

// add queues a node whose encoding is complete.
func (q *queue) add(n *node) {
	r := &q.ready[n.size()/keccak.Rate+1]
	*r = append(*r, n)
	if len(*r) >= q.group {
		q.full = true
	}
}

// longest returns the class with the most nodes, 0 if none has at least least.
func (q *queue) longest(least int) int {
	best := 0
	for c := 1; c <= maxBlocks; c++ {
		if n := len(q.ready[c]); n >= least {
			best, least = c, n+1
		}
	}
	return best
}

// alloc takes a node from the pool, which is refilled by hashing what is queued.
func (b *Builder) alloc() *node {
	p := &b.nodes
	if len(p.free) == 0 {
		b.flush()
	}
	n := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return n
}

// drain hashes whole groups, until there is none left.
func (b *Builder) drain() {
	for c := b.queue.longest(b.queue.group); c != 0; c = b.queue.longest(b.queue.group) {
		b.run(c)
	}
	b.queue.full = false
}

// flush hashes everything that can be hashed, in groups as large as they come.
func (b *Builder) flush() {
	for c := b.queue.longest(1); c != 0; c = b.queue.longest(1) {
		b.run(c)
	}
	b.queue.full = false
}

// run hashes one group of class c and hands the hashes on: rows whose references are complete go
// to the Sink, parents that wait for nothing more join the queue.
func (b *Builder) run(c int) {
	q := &b.queue
	r := q.ready[c]
	rest := len(r) - min(len(r), q.group)
	done := q.done[:copy(q.done, r[rest:])] // a parent can join the same class
	q.ready[c] = r[:rest]
	msgs := q.msgs[:len(done)]
	for i, n := range done {
		msgs[i] = keccak.Message{Data: n.rlp(), Out: n.out}
	}
	b.hasher.Hash(msgs)
	for _, n := range done {
		if n.row {
			b.put(n)
		}
		b.nodes.release(n)
		par := n.parent
		if par == nil {
			continue
		}
		par.pending--
		if par.pending != 0 {
			continue
		}
		if par.dead {
			b.nodes.release(par)
		} else {
			q.add(par)
		}
	}
}

// put gives the row of branch n to the Sink.
func (b *Builder) put(n *node) {
	if n.trie.err != nil {
		return
	}
	p := Path{Key: n.path, Len: int(n.depth)}
	err := b.sink.PutBranch(n.trie.tag, p, n.branch(b.scratch[:]))
	if err != nil {
		b.failBuild(n.trie, fmt.Errorf("put branch %v: %w", p, err))
	}
}
