package bench

import (
	"fmt"
	"math/big"
	"runtime"
	"time"

	"github.com/balsa-sync/balsa/bal"
	"github.com/balsa-sync/balsa/internal/balbench"
	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Side is a way to apply blocks, on a store of its own.
type Side interface {
	Name() string
	// Apply checks the encoded list against the header, applies it to the state that the last
	// block left, and returns the state root that results.
	Apply(header *types.Header, list []byte) (common.Hash, error)
	// Close writes what is still in memory, and closes the store.
	Close() error
}

// Result is what a side took.
type Result struct {
	Name   string
	Blocks []time.Duration // of each block
	Settle time.Duration   // after the segments, until nothing went on in the background any more
	Close  time.Duration
}

// block is one block on its way through the sides.
type block struct {
	header *types.Header
	list   []byte
}

// Run applies the blocks to all sides, a segment to each in turn, and closes them. The first side
// gives the state roots; the headers that the others get hold them, and one that comes to another
// root fails the run.
func Run(s Sizes, g *Genesis, sides []Side) ([]Result, error) {
	results := make([]Result, len(sides))
	for i := range sides {
		results[i] = Result{Name: sides[i].Name(), Blocks: make([]time.Duration, 0, s.Blocks)}
	}
	err := runSegments(s, g, sides, results)
	for i, side := range sides {
		start := time.Now()
		if e := side.Close(); e != nil && err == nil {
			err = fmt.Errorf("%s: close: %w", side.Name(), e)
		}
		results[i].Close = time.Since(start)
	}
	return results, err
}

func runSegments(s Sizes, g *Genesis, sides []Side, results []Result) error {
	parent := g.Header
	for from := 1; from <= s.Blocks; from += s.Segment {
		blocks := s.segment(from)
		for i, side := range sides {
			runtime.GC()
			measure.Settle()
			stop, err := profile(s.Profile, from, side)
			if err != nil {
				return err
			}
			for j := range blocks {
				b := &blocks[j]
				start := time.Now()
				root, err := side.Apply(b.header, b.list)
				results[i].Blocks = append(results[i].Blocks, time.Since(start))
				if err != nil {
					return fmt.Errorf("%s: block %v: %w", side.Name(), b.header.Number, err)
				}
				if i == 0 {
					b.header.Root, b.header.ParentHash = root, parent.Hash()
					parent = b.header
				} else if root != b.header.Root {
					return fmt.Errorf("%s: block %v: root %v, %s has %v", side.Name(),
						b.header.Number, root, sides[0].Name(), b.header.Root)
				}
			}
			results[i].Settle += measure.Settle()
			stop()
		}
	}
	return nil
}

// segment makes the blocks of a segment; their headers have neither root nor parent yet.
func (s Sizes) segment(from int) []block {
	blocks := make([]block, 0, s.Segment)
	for n := from; n < from+s.Segment && n <= s.Blocks; n++ {
		list := bal.Encode(s.AccessList(n))
		before := &types.Header{Number: big.NewInt(int64(n - 1))}
		blocks = append(blocks, block{balbench.NewHeader(before, common.Hash{}, list), list})
	}
	return blocks
}
