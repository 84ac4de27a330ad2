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

// Trie is a Merkle-Patricia trie in memory. It is not safe for concurrent use, Hash included:
// hashing fills the nodes' caches.
type Trie struct {
	root   node
	hasher keccak
	buf    []byte // the encoding of the node that is being hashed
}

// New returns an empty trie.
func New() *Trie {
	return &Trie{hasher: sha3.NewLegacyKeccak256().(keccak)}
}

// Get returns the value of key, nil where the trie has none. The caller must not change it.
func (t *Trie) Get(key []byte) []byte {
	path := nibblesOf(key)
	for n := t.root; ; {
		switch at := n.(type) {
		case *leaf:
			if bytes.Equal(at.path, path) {
				return at.value
			}
			return nil
		case *extension:
			if !bytes.HasPrefix(path, at.path) {
				return nil
			}
			n, path = at.child, path[len(at.path):]
		case *branch:
			if len(path) == 0 {
				return at.value
			}
			n, path = at.children[path[0]], path[1:]
		default:
			return nil
		}
	}
}

// Update sets the value of key; an empty value deletes the key. The trie keeps a copy.
func (t *Trie) Update(key, value []byte) {
	if len(value) == 0 {
		t.Delete(key)
		return
	}
	t.root, _ = put(t.root, nibblesOf(key), bytes.Clone(value))
}

// Delete removes key; a key that is absent changes nothing.
func (t *Trie) Delete(key []byte) {
	t.root, _ = remove(t.root, nibblesOf(key))
}

// Hash returns the root hash: the hash of the root node's RLP, and of the empty string's RLP for
// an empty trie. It costs one Keccak-256 a node that changed since the last call.
func (t *Trie) Hash() common.Hash {
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

// refer makes the references of n and of all nodes below it known.
func (t *Trie) refer(n node) {
	ref := n.cache()
	if ref.known() {
		return
	}
	switch n := n.(type) {
	case *extension:
		t.refer(n.child)
	case *branch:
		for _, c := range n.children {
			if c != nil {
				t.refer(c)
			}
		}
	}
	t.buf = n.appendRLP(t.buf[:0])
	if len(t.buf) < 32 {
		ref.size = uint8(copy(ref.bytes[:], t.buf))
		return
	}
	ref.bytes[0] = 0xa0
	h := t.keccak256(t.buf)
	copy(ref.bytes[1:], h[:])
	ref.size = 33
}

func (t *Trie) keccak256(b []byte) (h common.Hash) {
	t.hasher.Reset()
	t.hasher.Write(b)
	t.hasher.Read(h[:])
	return h
}
