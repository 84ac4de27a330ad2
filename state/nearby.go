package state

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

const (
	// maxSteps is how many rows are stepped over on the way to the next one before it is sought
	// instead: about as many as take the time of a seek.
	maxSteps = 16
	// seeksAlone is the number of an account's rows that are sought each by itself. Those after them
	// make it likely that there are more.
	seeksAlone = 2
)

// nearby follows the rows of one account that are asked for one after the other: slots, or branch
// rows of its storage trie. In most accounts they lie so close together that the way from one to
// the next is shorter in steps than by a seek.
type nearby struct {
	account  common.Hash
	asked    int  // rows of the account
	far      bool // its rows lie too far apart
	standing bool // the iterator stands at the first row not before last
	last     keyBuf
	n        int // length of last
}

// leave says that the iterator goes elsewhere.
func (n *nearby) leave() { n.standing = false }

// find moves the iterator to the row with the given key, one of the account's. It returns false
// where there is none; the iterator then stands at the first row behind, if n is standing.
func (n *nearby) find(it *pebble.Iterator, account *common.Hash, key []byte) bool {
	if n.asked == 0 || n.account != *account {
		*n = nearby{account: *account}
	}
	n.asked++
	switch {
	case n.far || n.asked <= seeksAlone:
	case !n.standing || bytes.Compare(key, n.last[:n.n]) < 0:
		n.standing = true
		it.SeekGE(key)
		return n.stands(it, key)
	case n.step(it, key):
		return n.stands(it, key)
	default:
		n.far, n.standing = true, false
	}
	// By prefix, which is the whole key, Pebble asks the files' filters before it looks into them.
	return it.SeekPrefixGE(key)
}

// step goes forward to the first row not before key, unless that takes too many steps.
func (n *nearby) step(it *pebble.Iterator, key []byte) bool {
	for i := 0; it.Valid() && bytes.Compare(it.Key(), key) < 0; i++ {
		if i == maxSteps {
			return false
		}
		it.Next()
	}
	return true
}

// stands notes where the iterator stands.
func (n *nearby) stands(it *pebble.Iterator, key []byte) bool {
	n.n = copy(n.last[:], key)
	return it.Valid() && bytes.Equal(it.Key(), key)
}
