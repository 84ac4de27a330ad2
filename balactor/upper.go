package balactor

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

const (
	// upperLevels is how many levels of the account trie an upper keeps, the root's among them. The
	// rows of one more would take half a gigabyte where they are all there.
	upperLevels = 5
	// upperChunks is the number of chunks: for each of the levels below the root's, one for every
	// branch of the level above.
	upperChunks = 1 + 1<<4 + 1<<8 + 1<<12

	maxRefsLen = 16 * (1 + common.HashLength) // all children by hash
)

// upper keeps the account trie's upper branch rows from block to block, as the updater takes them:
// nearly every block reads and writes the same ones. It holds rows of one state alone, that of the
// block at; a row that it does not have is read from the store. It takes at most 38 MB.
//
// Workers side by side may read and fill it if each keeps to paths of first nibbles of its own
// (messages.UpdateAccounts.Over).
type upper struct {
	at     common.Hash
	root   upperRow
	chunks [upperChunks]*upperChunk // the first is always there
}

// upperChunk holds the rows of the children of one branch.
type upperChunk [16]upperRow

// upperRow is a branch row; without a mask, none is known.
type upperRow struct {
	mask, sub uint16
	len       uint16 // of refs
	refs      [maxRefsLen]byte
}

// firstChunk is the place of a level's first chunk.
var firstChunk = [upperLevels]int{1: 0, 2: 1, 3: 1 + 1<<4, 4: 1 + 1<<4 + 1<<8}

func newUpper() *upper { return &upper{chunks: [upperChunks]*upperChunk{new(upperChunk)}} }

// stand makes u stand at a block's state, with no rows unless it stands there already.
func (u *upper) stand(at common.Hash) {
	if u.at != at {
		u.forget()
		u.at = at
	}
}

// forget drops all rows.
func (u *upper) forget() {
	u.root.mask = 0
	for _, c := range u.chunks {
		if c != nil {
			for x := range c {
				c[x].mask = 0
			}
		}
	}
}

// move brings u to the state that a block's rows lead to from the one where it stands. The account
// trie's come first among rows.
func (u *upper) move(to common.Hash, rows []state.BranchWrite) {
	u.at = to
	for i := range rows {
		w := &rows[i]
		if w.Storage {
			return
		}
		if w.Path.Len >= upperLevels {
			continue
		}
		if b, err := trie.DecodeBranch(w.Row); err == nil {
			u.row(&w.Path, true).set(b)
		} else if row := u.row(&w.Path, false); row != nil { // it is deleted
			row.mask = 0
		}
	}
}

// row is the place of the row at p, which is no longer than upperLevels allows; nil if there is
// none and none is to be made.
func (u *upper) row(p *trie.Path, create bool) *upperRow {
	if p.Len == 0 {
		return &u.root
	}
	i := binary.BigEndian.Uint32(p.Key[:]) >> (32 - 4*p.Len)
	c := &u.chunks[firstChunk[p.Len]+int(i>>4)]
	if *c == nil {
		if !create {
			return nil
		}
		*c = new(upperChunk)
	}
	return &(*c)[i&15]
}

func (r *upperRow) set(b trie.Branch) {
	r.len = uint16(copy(r.refs[:], b.Refs))
	r.mask, r.sub = b.Mask, b.Sub
}

// over is the account trie that r gives at the state where u stands.
func (u *upper) over(r trie.Reader) trie.Reader { return upperReader{r, u} }

// upperReader is an account trie whose upper rows are kept.
type upperReader struct {
	trie.Reader
	upper *upper
}

// FirstBranch implements trie.Reader.
func (r upperReader) FirstBranch(p trie.Path) (trie.Path, trie.Branch, bool, error) {
	if p.Len >= 0 && p.Len < upperLevels {
		if row := r.upper.row(&p, false); row != nil && row.mask != 0 {
			return p, trie.Branch{Mask: row.mask, Sub: row.sub, Refs: row.refs[:row.len]}, true, nil
		}
	}
	at, b, ok, err := r.Reader.FirstBranch(p)
	if ok && err == nil && at.Len >= 0 && at.Len < upperLevels {
		r.upper.row(&at, true).set(b)
	}
	return at, b, ok, err
}
