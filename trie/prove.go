package trie

import (
	"fmt"
	"math/bits"

	"github.com/balsa-sync/balsa/trie/keccak"
	"github.com/ethereum/go-ethereum/common"
)

// Prove returns the proof of one key, present or absent: the RLP of each node on the path, from
// the root to the leaf or to the node at which the path ends (EIP-1186). Embedded nodes lie inside
// their parents only. The proof of an empty trie is its one node, 0x80.
//
// Branches come from their rows; leaves and extensions are made from flat leaves and from where
// the branches lie. Each node is checked against its parent's reference: a row that contradicts
// another gives ErrBadBranch, one that is lacking ErrMissingNode. The result aliases nothing.
func Prove(r Reader, key common.Hash) ([][]byte, error) {
	p := prover{r: r, key: key}
	for {
		done, err := p.step()
		if err != nil {
			return nil, fmt.Errorf("prove %x: %w", key, err)
		}
		if done {
			return p.nodes, nil
		}
	}
}

// ProveRange returns the nodes on the paths to start and to last, each once: the proof of the
// range of leaves between them for VerifyRange. last is the last key of the range; for a range
// without leaves it is start. Errors are those of Prove.
func ProveRange(r Reader, start, last common.Hash) ([][]byte, error) {
	nodes, err := Prove(r, start)
	if err != nil || last == start {
		return nodes, err
	}
	more, err := Prove(r, last)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(nodes))
	for _, raw := range nodes {
		seen[string(raw)] = true
	}
	for _, raw := range more {
		if !seen[string(raw)] {
			nodes = append(nodes, raw)
		}
	}
	return nodes, nil
}

// prover walks from the root along a key.
type prover struct {
	r     Reader
	key   common.Hash
	nodes [][]byte

	at  Path   // where the next node lies
	ref []byte // how its parent refers to it; nil for the root
	sub bool   // whether a branch lies at or below it; for the root that is not known
}

// step proves the node at p.at, and the branch below it if that is an extension.
func (p *prover) step() (done bool, err error) {
	isRoot := p.at.Len == 0
	if !p.sub && !isRoot {
		return true, p.leaf()
	}
	at, b, ok, err := p.r.FirstBranch(p.at)
	switch {
	case err != nil:
		return true, err
	case !ok && isRoot:
		return true, p.leaf()
	case !ok:
		return true, fmt.Errorf("%w: branch at or below path %v", ErrMissingNode, p.at)
	case !at.HasPrefix(p.at):
		return true, fmt.Errorf("%w: %v is not below path %v", ErrBadBranch, at, p.at)
	}
	raw := appendBranchNode(nil, b)
	if at.Len > p.at.Len {
		below := appendRef(nil, raw)
		if err := p.add(appendExtensionNode(nil, &at, p.at.Len, below)); err != nil {
			return true, err
		}
		p.ref = below
		if !at.HasKey(&p.key) || !isHashRef(below) {
			return true, nil
		}
	}
	if err := p.add(raw); err != nil {
		return true, err
	}
	p.at = PathOf(p.key, at.Len+1)
	x := p.at.Nibble(at.Len)
	if p.ref = b.Ref(x); p.ref == nil || !isHashRef(p.ref) {
		return true, nil // no child, or one that the branch embeds with all that lies below
	}
	p.sub = b.Sub>>x&1 == 1
	return false, nil
}

// leaf proves the leaf at p.at, or the empty trie.
func (p *prover) leaf() error {
	key, value, ok, err := p.r.FirstLeaf(p.at)
	switch {
	case err != nil:
		return err
	case ok:
		return p.add(appendLeafNode(nil, &key, p.at.Len, value))
	case p.at.Len == 0:
		p.nodes = append(p.nodes, []byte(emptyNode))
		return nil
	default:
		return fmt.Errorf("%w: leaf below path %v", ErrMissingNode, p.at)
	}
}

// add takes a node into the proof if it is what its parent refers to.
func (p *prover) add(raw []byte) error {
	if p.ref != nil && keccak.Sum(raw) != common.Hash(p.ref[1:]) {
		return fmt.Errorf("%w: the node at path %v is not what its parent refers to",
			ErrBadBranch, p.at)
	}
	p.nodes = append(p.nodes, raw)
	return nil
}

// appendLeafNode appends the RLP of the leaf of key below path length from.
func appendLeafNode(dst []byte, key *common.Hash, from int, value []byte) []byte {
	path := appendCompact(nil, key, from, keyNibbles, true)
	dst = appendListHeader(dst, stringLen(path)+stringLen(value))
	return appendString(appendString(dst, path), value)
}

// appendExtensionNode appends the RLP of the extension at path length from above the branch at to.
func appendExtensionNode(dst []byte, to *Path, from int, ref []byte) []byte {
	path := appendCompact(nil, &to.Key, from, to.Len, false)
	dst = appendListHeader(dst, stringLen(path)+len(ref))
	return append(appendString(dst, path), ref...)
}

// appendBranchNode appends the RLP of a branch.
func appendBranchNode(dst []byte, b Branch) []byte {
	absent := 16 - bits.OnesCount16(b.Mask)
	dst = appendListHeader(dst, absent+len(b.Refs)+1)
	refs := b.Refs
	for x := range 16 {
		if b.Mask>>x&1 == 0 {
			dst = append(dst, 0x80)
			continue
		}
		n := refLen(refs)
		dst = append(dst, refs[:n]...)
		refs = refs[n:]
	}
	return append(dst, 0x80) // no value: no key ends here
}

// appendRef appends the reference of the node whose RLP is raw.
func appendRef(dst, raw []byte) []byte {
	if len(raw) < common.HashLength {
		return append(dst, raw...)
	}
	h := keccak.Sum(raw)
	return append(append(dst, hashRefPrefix), h[:]...)
}
