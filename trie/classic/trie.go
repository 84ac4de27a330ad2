package classic

import (
	"bytes"
	"hash"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/crypto/sha3"
)

// keccak is the hash function's state; reading it saves the copy that Sum makes.
type keccak interface {
	hash.Hash
	io.Reader
}

func newKeccak() keccak { return sha3.NewLegacyKeccak256().(keccak) }

// Trie is a Merkle-Patricia trie in memory. It is not safe for concurrent use, Hash included:
// hashing fills the nodes' caches.
type Trie struct{ tree }

// New returns an empty trie.
func New() *Trie { return &Trie{tree{hasher: newKeccak()}} }

// Get returns the value of key, nil where the trie has none. The caller must not change it.
func (t *Trie) Get(key []byte) []byte {
	value, _ := t.get(nibblesOf(key)) // all nodes are there
	return value
}

// Update sets the value of key; an empty value deletes the key. The trie keeps a copy.
func (t *Trie) Update(key, value []byte) {
	// Nothing is read and nothing is checked, so that nothing can fail.
	_ = t.apply(&change{path: nibblesOf(key), value: bytes.Clone(value)})
}

// Delete removes key; a key that is absent changes nothing.
func (t *Trie) Delete(key []byte) { t.Update(key, nil) }

// Hash returns the root hash: the hash of the root node's RLP, and of the empty string's RLP for
// an empty trie. It costs one Keccak-256 a node that changed since the last call.
func (t *Trie) Hash() common.Hash { return t.hash() }

// get returns the value at a path, nil where there is none.
func (t *tree) get(whole []byte) ([]byte, error) {
	path := whole
	for n := t.root; ; {
		switch at := n.(type) {
		case *stored:
			read, err := t.resolve(at, whole[:len(whole)-len(path)], nil)
			if err != nil {
				return nil, err
			}
			n = read
		case *leaf:
			if bytes.Equal(at.path, path) {
				return at.value, nil
			}
			return nil, nil
		case *extension:
			if !bytes.HasPrefix(path, at.path) {
				return nil, nil
			}
			n, path = at.child, path[len(at.path):]
		case *branch:
			if len(path) == 0 {
				return at.value, nil
			}
			n, path = at.children[path[0]], path[1:]
		default:
			return nil, nil
		}
	}
}

func (t *tree) hash() common.Hash {
	if t.root == nil {
		return t.keccak256([]byte{0x80})
	}
	t.refer(t.root)
	if ref := t.root.cache(); ref.isHash() {
		return common.Hash(ref.view()[1:])
	}
	// A root shorter than 32 bytes is hashed all the same. Its reference is its encoding.
	return t.keccak256(t.root.cache().view())
}

func (t *tree) keccak256(b []byte) (h common.Hash) {
	t.hasher.Reset()
	t.hasher.Write(b)
	t.hasher.Read(h[:])
	return h
}
