package trie

import (
	"errors"
	"fmt"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// ErrBadProof says that a proof does not show what it should: a node is missing, malformed, out
// of place or superfluous, or the leaves of a range are not those of the trie.
var ErrBadProof = errors.New("trie: bad proof")

// maxPathNodes is the most nodes a path of 64 nibbles can have: a branch at each depth and the
// leaf. Extensions only make it shorter.
const maxPathNodes = keyNibbles + 1

// emptyNode is the root node of an empty trie: the RLP of the empty string.
const emptyNode = "\x80"

// VerifyProof checks a proof of one key against a trusted root and returns the key's value as the
// trie holds it (consensus RLP of an account, RLP of a trimmed slot value). A nil value with a nil
// error is a proof of absence. The value aliases the proof.
//
// The proof is what eth_getProof gives (EIP-1186, accountProof and storageProof): the RLP of each
// node on the path, the root first, embedded nodes only inside their parents, and nothing behind
// the node that decides. For the empty root both an empty proof and the one node 0x80 will do.
// Anything else gives ErrBadProof; bad input never panics.
func VerifyProof(root, key common.Hash, proof [][]byte) (value []byte, err error) {
	if root == EmptyRoot {
		if len(proof) == 0 || len(proof) == 1 && string(proof[0]) == emptyNode {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: %d nodes for the empty root", ErrBadProof, len(proof))
	}
	if len(proof) > maxPathNodes {
		return nil, fmt.Errorf("%w: %d nodes on a path", ErrBadProof, len(proof))
	}
	step := proofStep{key: key, want: root}
	for i, raw := range proof {
		if err := step.take(raw); err != nil {
			return nil, err
		}
		if !step.done {
			continue
		}
		if i != len(proof)-1 {
			return nil, fmt.Errorf("%w: %d nodes behind the last", ErrBadProof, len(proof)-1-i)
		}
		return step.value, nil
	}
	return nil, fmt.Errorf("%w: node %x at path %v is missing", ErrBadProof, step.want, step.at)
}

// proofStep is how far a proof has been followed along a key.
type proofStep struct {
	key        common.Hash
	want       common.Hash // the hash of the next node
	at         Path        // where that node lies
	needBranch bool        // it lies below an extension
	done       bool
	value      []byte
}

// take checks the next node of the proof and follows the key through it and the nodes embedded
// in it, up to the next hash or the end.
func (s *proofStep) take(raw []byte) error {
	if err := checkNode(s.at, s.want, raw); err != nil {
		return err
	}
	for {
		n, err := decodeNode(s.at, raw)
		if err != nil {
			return err
		}
		if s.needBranch && n.kind != proofBranch {
			return badNode(s.at, "an extension above no branch")
		}
		if raw = s.next(&n); raw == nil {
			s.done = true
			return nil
		}
		if isHashRef(raw) {
			s.want = common.Hash(raw[1:])
			return nil
		}
	}
}

// next returns the reference that the key leads to, nil at the end.
func (s *proofStep) next(n *proofNode) (ref []byte) {
	s.needBranch = n.kind == proofExtension
	switch n.kind {
	case proofLeaf:
		if n.path.Key == s.key {
			s.value = n.value
		}
		return nil
	case proofExtension:
		if !n.path.HasKey(&s.key) {
			return nil
		}
		s.at = n.path
		return n.refs[0]
	default:
		s.at = PathOf(s.key, n.path.Len+1)
		return n.refs[s.at.Nibble(n.path.Len)]
	}
}

// checkNode checks a node's hash, and that a node which has one is not so short that it would be
// embedded; the root is always hashed.
func checkNode(p Path, want common.Hash, raw []byte) error {
	if p.Len > 0 && len(raw) < common.HashLength {
		return badNode(p, "a node that should be embedded")
	}
	if got := keccak.Sum(raw); got != want {
		return fmt.Errorf("%w: node at path %v has hash %x, want %x", ErrBadProof, p, got, want)
	}
	return nil
}
