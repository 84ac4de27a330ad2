package hashbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	gethtrie "github.com/ethereum/go-ethereum/trie"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/trie"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// errDiffers: what is compared does not agree.
var errDiffers = errors.New("hashbench: results differ")

// work is tries to be built, with the root of the last one by whoever built them first.
type work struct {
	name  string
	keys  []common.Hash // ascending within each trie
	size  int           // leaves of a trie
	value []byte        // a leaf's value but for its last eight bytes, which are the key's

	root common.Hash
}

// works are what is measured.
func works(o *Options) []*work {
	var all []*work
	for _, value := range []int{9, 100} {
		all = append(all,
			newWork("one trie", o.Leaves, o.Leaves, value),
			newWork("small tries", o.Leaves, trieLeaves, value))
	}
	return all
}

func newWork(name string, leaves, size, value int) *work {
	rng := rand.New(rand.NewPCG(5, uint64(size)))
	w := &work{name: name, size: size, value: bytes.Repeat([]byte{0x81}, value)}
	w.keys = make([]common.Hash, leaves/size*size)
	for i := range w.keys {
		for j := range w.keys[i] {
			w.keys[i][j] = byte(rng.Uint32())
		}
	}
	for t := range slices.Chunk(w.keys, size) {
		slices.SortFunc(t, common.Hash.Cmp)
	}
	return w
}

// leafValue is the value of a key's leaf, until the next call.
func (w *work) leafValue(key *common.Hash) []byte {
	copy(w.value[len(w.value)-8:], key[8:16])
	return w.value
}

// check compares the root of the last trie with that of whoever came first.
func (w *work) check(root common.Hash) error {
	if w.root == (common.Hash{}) {
		w.root = root
	}
	if root != w.root {
		return fmt.Errorf("%w: root %v and %v", errDiffers, root, w.root)
	}
	return nil
}

// stackTries builds with go-ethereum.
func (w *work) stackTries(rows *int) (root common.Hash, err error) {
	onNode := func([]byte, common.Hash, []byte) { *rows++ }
	t := gethtrie.NewStackTrie(onNode)
	for i := range w.keys {
		if err := t.Update(w.keys[i][:], w.leafValue(&w.keys[i])); err != nil {
			return root, err
		}
		if (i+1)%w.size == 0 {
			root = t.Hash()
			t.Reset()
		}
	}
	return root, nil
}

// build builds with Balsa.
func (w *work) build(b *trie.Builder) (root common.Hash, err error) {
	b.Reset()
	for i := range w.keys {
		if i%w.size == 0 {
			b.Begin(0)
		}
		if err := b.Leaf(&w.keys[i], w.leafValue(&w.keys[i])); err != nil {
			return root, err
		}
		if (i+1)%w.size != 0 {
			continue
		}
		id, err := b.End()
		if err != nil {
			return root, err
		}
		if last := i+1 == len(w.keys); last || id+1 == flushTries {
			if err := b.Flush(); err != nil {
				return root, err
			}
			root = b.Root(id)
			b.Reset()
		}
	}
	return root, nil
}

// countRows is a sink that drops the rows.
type countRows int

func (c *countRows) PutBranch(uint32, trie.Path, trie.Branch) error { *c++; return nil }
func (c *countRows) DeleteBranch(uint32, trie.Path) error           { return nil }

// unhashed is a hasher that does nothing, at as many lanes as a real one.
type unhashed int

func (unhashed) Hash([]keccak.Message) {}
func (u unhashed) Lanes() int          { return int(u) }

func (w *work) measure(ctx context.Context, o *Options, lanes []int) (Trie, error) {
	o.Progress(fmt.Sprintf("%s of %d leaves, values of %d bytes", w.name, w.size, len(w.value)))
	t := Trie{Name: w.name, Tries: len(w.keys) / w.size, Leaves: w.size, ValueBytes: len(w.value)}
	var rows int
	sides := []measure.Side{{Name: "StackTrie", Run: func(context.Context) (measure.Sample, error) {
		return w.sample(true, func() (common.Hash, error) { return w.stackTries(&rows) })
	}}}
	builders := make([]*trie.Builder, len(lanes))
	for i, n := range lanes {
		h := keccak.NewLanes(n)
		builders[i] = trie.NewBuilder(trie.Options{Hasher: h, Sink: new(countRows)})
		idle := trie.NewBuilder(trie.Options{Hasher: unhashed(h.Lanes()), Sink: new(countRows)})
		sides = append(sides, w.side(n, "", true, builders[i]),
			w.side(n, ", no hashing", false, idle))
	}
	samples, err := measure.Alternate(ctx, o.Rounds, sides...)
	if err != nil {
		return t, fmt.Errorf("%s: %w", w.name, err)
	}
	each := 1e9 / float64(len(w.keys))
	t.StackTrie = measure.Of(samples[0].OneCore()).Times(each)
	t.StackTrieAllocs = measure.Of(samples[0].Allocs()).Median
	for i, n := range lanes {
		hashed, idle := samples[1+2*i], samples[2+2*i]
		l := TrieLanes{
			Lanes: n, NS: measure.Of(hashed.OneCore()).Times(each),
			Ratio:      measure.Ratio(samples[0].OneCore(), hashed.OneCore()),
			Allocs:     measure.Of(hashed.Allocs()).Median,
			UnhashedNS: measure.Of(idle.OneCore()).Times(each),
		}
		if l.Shares, err = w.shares(ctx, o, builders[i], hashed); err != nil {
			return t, fmt.Errorf("%s: profile: %w", w.name, err)
		}
		t.Lanes = append(t.Lanes, l)
	}
	return t, nil
}

func (w *work) side(lanes int, what string, hashes bool, b *trie.Builder) measure.Side {
	return measure.Side{
		Name: fmt.Sprintf("%d lanes%s", lanes, what),
		Run: func(context.Context) (measure.Sample, error) {
			return w.sample(hashes, func() (common.Hash, error) { return w.build(b) })
		},
	}
}

// sample measures one run; its root is checked where there is one.
func (w *work) sample(hashes bool, run func() (common.Hash, error)) (measure.Sample, error) {
	var root common.Hash
	s, err := measure.Run(func() (err error) {
		root, err = run()
		return err
	})
	if err == nil && hashes {
		err = w.check(root)
	}
	return s, err
}
