package classic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	gethtrie "github.com/ethereum/go-ethereum/trie"
	"pgregory.net/rapid"
)

// pair is this package's trie beside go-ethereum's.
type pair struct {
	ours *Trie
	geth *gethtrie.Trie
	keys map[string][]byte
}

func newPair() *pair {
	return &pair{ours: New(), geth: gethtrie.NewEmpty(nil), keys: map[string][]byte{}}
}

func (p *pair) update(key, value []byte) error {
	p.ours.Update(key, value)
	if len(value) == 0 {
		delete(p.keys, string(key))
	} else {
		p.keys[string(key)] = bytes.Clone(value)
	}
	return p.geth.Update(key, bytes.Clone(value))
}

func (p *pair) check() error {
	if got, want := p.ours.Hash(), p.geth.Hash(); got != want {
		return fmt.Errorf("root of %d keys: got %x, go-ethereum has %x", len(p.keys), got, want)
	}
	for key, want := range p.keys {
		if got := p.ours.Get([]byte(key)); !bytes.Equal(got, want) {
			return fmt.Errorf("value of %x: got %x, want %x", key, got, want)
		}
	}
	return nil
}

// testAgainstGeth draws updates and deletes of keys and compares after some of them.
func testAgainstGeth(t *testing.T, key *rapid.Generator[[]byte]) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair()
		value := rapid.SliceOfN(rapid.Byte(), 0, 40)
		for i := range rapid.IntRange(1, 60).Draw(t, "operations") {
			k := key.Draw(t, "key")
			v := value.Draw(t, "value")
			if err := p.update(k, v); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if err := p.check(); err != nil {
					t.Fatal(err)
				}
			}
			absent := key.Draw(t, "absent")
			if _, ok := p.keys[string(absent)]; !ok && p.ours.Get(absent) != nil {
				t.Fatalf("%x has a value and was never set", absent)
			}
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		for k := range p.keys {
			if err := p.update([]byte(k), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		if p.ours.root != nil {
			t.Fatal("a trie without keys has a root node")
		}
	})
}

func TestKeysOfAnyLengthGiveGethsRoots(t *testing.T) {
	// Three byte values and up to four bytes: many keys are prefixes of others, the empty one too.
	testAgainstGeth(t, rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 0x01, 0x10}), 0, 4))
}

func TestKeysOf32BytesGiveGethsRoots(t *testing.T) {
	// Long shared prefixes, and forks at both ends of the key.
	testAgainstGeth(t, rapid.Custom(func(t *rapid.T) []byte {
		key := make([]byte, 32)
		key[0] = rapid.SampledFrom([]byte{0x00, 0x01, 0xf0}).Draw(t, "first")
		key[15] = rapid.SampledFrom([]byte{0x00, 0x80}).Draw(t, "middle")
		key[31] = rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 0xff}).Draw(t, "last")
		return key
	}))
}

func TestManyHashedKeysGiveGethsRoots(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := newPair()
	for round := range 20 {
		for range 300 {
			key := crypto.Keccak256(binary.BigEndian.AppendUint32(nil, rng.Uint32N(2000)))
			value := bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(60))
			if err := p.update(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.check(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func TestEmptyTrieHasTheEmptyRoot(t *testing.T) {
	tr := New()
	if got := tr.Hash(); got != types.EmptyRootHash {
		t.Errorf("new trie: %x", got)
	}
	tr.Delete([]byte("absent"))
	tr.Update([]byte("absent"), nil)
	if got := tr.Hash(); got != types.EmptyRootHash {
		t.Errorf("after deletes of absent keys: %x", got)
	}
}

func TestValuesAreCopied(t *testing.T) {
	value := []byte("value")
	tr := New()
	tr.Update([]byte("key"), value)
	value[0] = 'X'
	if got := tr.Get([]byte("key")); string(got) != "value" {
		t.Errorf("got %q", got)
	}
}

// counting counts the hashes begun.
type counting struct {
	keccak
	n int
}

func (c *counting) Reset() {
	c.n++
	c.keccak.Reset()
}

func TestHashComputesOnlyWhatChanged(t *testing.T) {
	tr := New()
	count := &counting{keccak: tr.hasher}
	tr.hasher = count
	var keys []common.Hash
	for i := range uint32(5000) {
		key := crypto.Keccak256Hash(binary.BigEndian.AppendUint32(nil, i))
		keys = append(keys, key)
		tr.Update(key[:], bytes.Repeat([]byte{1}, 40))
	}
	hashes := func() int {
		count.n = 0
		tr.Hash()
		return count.n
	}
	if n := hashes(); n < 5000 {
		t.Fatalf("the first hash took %d hashes for 5000 leaves", n)
	}
	if n := hashes(); n != 0 {
		t.Errorf("hashing again without a change took %d hashes", n)
	}
	tr.Update(keys[7][:], bytes.Repeat([]byte{1}, 40)) // the value it has
	absent := crypto.Keccak256([]byte("absent"))
	tr.Delete(absent)
	if n := hashes(); n != 0 {
		t.Errorf("writes that change nothing cost %d hashes", n)
	}
	// 5,000 random keys share at most some six nibbles, so a path is at most some seven nodes.
	tr.Update(keys[7][:], bytes.Repeat([]byte{2}, 40))
	if n := hashes(); n < 2 || n > 8 {
		t.Errorf("one update cost %d hashes", n)
	}
	tr.Delete(keys[9][:])
	if n := hashes(); n < 1 || n > 8 {
		t.Errorf("one delete cost %d hashes", n)
	}
}

func BenchmarkUpdateAndHash(b *testing.B) {
	tr := New()
	key := func(i uint32) []byte {
		return crypto.Keccak256(binary.BigEndian.AppendUint32(nil, i))
	}
	for i := range uint32(100_000) {
		tr.Update(key(i), bytes.Repeat([]byte{1}, 40))
	}
	tr.Hash()
	rng := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 40)
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			value[0]++
			tr.Update(key(rng.Uint32N(100_000)), value)
		}
		tr.Hash()
	}
}
