package hashbench

import (
	"context"
	"runtime"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/trie/keccak"
)

// Report is what a run measured. All times are nanoseconds on one core.
type Report struct {
	Arch     string    `json:"arch"`
	Go       string    `json:"go"`
	Rounds   int       `json:"rounds"`
	Lanes    []int     `json:"lanes"` // that the machine has, descending
	Messages []Message `json:"messages"`
	Tries    []Trie    `json:"tries"`
}

// Message is a length of messages.
type Message struct {
	Bytes   int            `json:"bytes"`
	Blocks  int            `json:"blocks"` // permutations that a message takes
	XCrypto measure.Spread `json:"x_crypto_ns"`
	Lanes   []MessageLanes `json:"lanes"`
}

// MessageLanes is a length of messages at a number of lanes.
type MessageLanes struct {
	Lanes int            `json:"lanes"`
	NS    measure.Spread `json:"ns"` // a message
	// PermutationNS is NS over the message's blocks.
	PermutationNS measure.Spread `json:"ns_permutation"`
	Ratio         measure.Spread `json:"ratio"` // of x/crypto's time to this
	Allocs        float64        `json:"allocs_per_1000"`
}

// Trie is a way to build tries.
type Trie struct {
	Name       string         `json:"name"`
	Tries      int            `json:"tries"`
	Leaves     int            `json:"leaves"` // of each trie
	ValueBytes int            `json:"value_bytes"`
	StackTrie  measure.Spread `json:"stacktrie_ns_leaf"`
	// StackTrieAllocs are objects a run.
	StackTrieAllocs float64     `json:"stacktrie_allocs"`
	Lanes           []TrieLanes `json:"lanes"`
}

// TrieLanes is a way to build tries at a number of lanes.
type TrieLanes struct {
	Lanes  int            `json:"lanes"`
	NS     measure.Spread `json:"ns_leaf"`
	Ratio  measure.Spread `json:"ratio"`  // of StackTrie's time to this
	Allocs float64        `json:"allocs"` // objects a run
	// UnhashedNS is the time with a hasher that does nothing: structure and encoding.
	UnhashedNS measure.Spread `json:"unhashed_ns_leaf"`
	Shares     Shares         `json:"shares"`
}

// Run measures everything.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := &Report{Arch: runtime.GOARCH, Go: runtime.Version(), Rounds: o.Rounds,
		Lanes: keccak.Widths()}
	for _, size := range messageSizes {
		m, err := measureMessage(ctx, &o, r.Lanes, size)
		if err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, m)
	}
	for _, w := range works(&o) {
		t, err := w.measure(ctx, &o, r.Lanes)
		if err != nil {
			return nil, err
		}
		r.Tries = append(r.Tries, t)
	}
	return r, nil
}
