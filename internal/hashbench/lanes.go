package hashbench

import "github.com/balsa-sync/balsa/trie/keccak"

func widths() []int { return []int{1} }

func newLanes(int) keccak.Hasher { return keccak.New() }
