package trie

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// proofKind tells what a decoded node is.
type proofKind uint8

const (
	proofLeaf proofKind = iota + 1
	proofExtension
	proofBranch
)

// proofNode is a trie node decoded from a proof. All slices alias the proof.
type proofNode struct {
	kind  proofKind
	path  Path       // leaf: its whole key; extension: where its branch lies; branch: its place
	value []byte     // leaf only
	refs  [16][]byte // branch: its children, nil where there is none; extension: its branch in 0
}

// isHashRef tells a reference that is a hash from an embedded node.
func isHashRef(ref []byte) bool { return len(ref) == hashRefLen }

// decodeNode decodes the node that lies at path p, whose RLP is raw, and all nodes embedded in
// it. It takes only what a trie with 32-byte keys can hold (Yellow Paper, appendix D): canonical
// RLP without trailing bytes, canonical hex-prefix keys, leaves that end at 64 nibbles and hold a
// value, extensions of at least one nibble above a branch, branches of at least two children and
// no value, embedded nodes shorter than 32 bytes.
func decodeNode(p Path, raw []byte) (proofNode, error) {
	items, rest, err := rlp.SplitList(raw)
	if err != nil {
		return proofNode{}, fmt.Errorf("%w: node at path %v: %w", ErrBadProof, p, err)
	}
	if len(rest) != 0 {
		return proofNode{}, badNode(p, "trailing bytes")
	}
	count, err := rlp.CountValues(items)
	if err != nil {
		return proofNode{}, fmt.Errorf("%w: node at path %v: %w", ErrBadProof, p, err)
	}
	switch count {
	case 2:
		return decodeShort(p, items)
	case 17:
		return decodeFull(p, items)
	default:
		return proofNode{}, badNode(p, "neither 2 nor 17 items")
	}
}

// decodeShort decodes the two items of a leaf or an extension.
func decodeShort(p Path, items []byte) (proofNode, error) {
	key, rest, err := rlp.SplitString(items)
	if err != nil {
		return proofNode{}, fmt.Errorf("%w: node at path %v: %w", ErrBadProof, p, err)
	}
	end, isLeaf, err := decodeHexPrefix(p, key)
	if err != nil {
		return proofNode{}, err
	}
	if isLeaf {
		value, _, err := rlp.SplitString(rest)
		if err != nil || len(value) == 0 {
			return proofNode{}, badNode(p, "a leaf without a value")
		}
		return proofNode{kind: proofLeaf, path: end, value: value}, nil
	}
	n := proofNode{kind: proofExtension, path: end}
	if n.refs[0], _, err = decodeRef(end, rest, true); err != nil {
		return proofNode{}, err
	}
	if n.refs[0] == nil {
		return proofNode{}, badNode(p, "an extension above nothing")
	}
	return n, nil
}

// decodeFull decodes the seventeen items of a branch.
func decodeFull(p Path, items []byte) (n proofNode, err error) {
	if p.Len >= keyNibbles {
		return proofNode{}, badNode(p, "a branch at the end of the key")
	}
	n = proofNode{kind: proofBranch, path: p}
	children := 0
	for x := range byte(16) {
		if n.refs[x], items, err = decodeRef(p.Child(x), items, false); err != nil {
			return proofNode{}, err
		}
		if n.refs[x] != nil {
			children++
		}
	}
	if children < 2 {
		return proofNode{}, badNode(p, "a branch with fewer than two children")
	}
	if len(items) != 1 || items[0] != 0x80 {
		return proofNode{}, badNode(p, "a branch with a value")
	}
	return n, nil
}

// decodeRef decodes the first of items as the reference of the node at path p: nil, or the item
// as it stands. needBranch says that the node must be a branch, which an embedded one shows.
func decodeRef(p Path, items []byte, needBranch bool) (ref, rest []byte, err error) {
	kind, content, rest, err := rlp.Split(items)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: reference to path %v: %w", ErrBadProof, p, err)
	}
	ref = items[:len(items)-len(rest)]
	switch {
	case kind == rlp.String && len(content) == 0:
		return nil, rest, nil
	case kind == rlp.String && len(content) == common.HashLength:
		return ref, rest, nil
	case kind == rlp.List && len(ref) < common.HashLength:
		n, err := decodeNode(p, ref)
		if err != nil {
			return nil, nil, err
		}
		if needBranch && n.kind != proofBranch {
			return nil, nil, badNode(p, "an extension above no branch")
		}
		return ref, rest, nil
	default:
		return nil, nil, badNode(p, "neither a hash nor an embedded node")
	}
}

// decodeHexPrefix reads the key of a leaf or an extension at path p (Yellow Paper, appendix C)
// and returns where it leads.
func decodeHexPrefix(p Path, key []byte) (end Path, isLeaf bool, err error) {
	if len(key) == 0 || key[0] > 0x3f {
		return Path{}, false, badNode(p, "bad hex-prefix flags")
	}
	isLeaf = key[0]&compactLeaf != 0
	odd := key[0]&compactOdd != 0
	count := 2 * (len(key) - 1)
	if odd {
		count++
	} else if key[0]&0x0f != 0 {
		return Path{}, false, badNode(p, "bad hex-prefix padding")
	}
	switch {
	case isLeaf && p.Len+count != keyNibbles:
		return Path{}, false, badNode(p, "a leaf whose key is not 32 bytes")
	case !isLeaf && (count == 0 || p.Len+count >= keyNibbles):
		return Path{}, false, badNode(p, "an extension of no nibbles, or past the key's end")
	}
	if odd {
		p = p.Child(key[0] & 0x0f)
	}
	for _, b := range key[1:] {
		p = p.Child(b >> 4).Child(b & 0x0f)
	}
	return p, isLeaf, nil
}

// badNode is the error for a node at path p that no trie holds.
func badNode(p Path, what string) error {
	return fmt.Errorf("%w: node at path %v: %s", ErrBadProof, p, what)
}
