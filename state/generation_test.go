package state

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestGenerationKeepsEveryVersion compares a generation with a map from key and commit to value.
func TestGenerationKeepsEveryVersion(t *testing.T) {
	r := newRand(1)
	g := newGeneration()
	type version struct {
		value   string
		deleted bool
	}
	model := []map[string]version{{}}
	keys := make([]string, 3000)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	for seq := uint64(1); seq <= 40; seq++ {
		now := map[string]version{}
		for k, v := range model[seq-1] {
			now[k] = v
		}
		for range 300 {
			k := keys[r.Intn(len(keys))]
			v := version{deleted: r.Intn(4) == 0}
			if !v.deleted {
				v.value = fmt.Sprint("value ", r.Int63(), string(make([]byte, r.Intn(600))))
			}
			if !g.put([]byte(k), []byte(v.value), v.deleted, seq) {
				t.Fatal("full")
			}
			now[k] = v
		}
		model = append(model, now)
	}
	for seq := range model {
		for _, k := range keys {
			value, st := g.get(hashKey([]byte(k)), []byte(k), uint64(seq))
			want, ok := model[seq][k]
			switch {
			case !ok && st == rowUnknown, ok && want.deleted && st == rowDeleted:
			case ok && !want.deleted && st == rowPresent && string(value) == want.value:
			default:
				t.Fatalf("%s at %d: %q %d, want %+v %v", k, seq, value, st, want, ok)
			}
		}
	}
}

func TestGenerationSaysWhenItIsFull(t *testing.T) {
	g := newGeneration()
	if g.put([]byte("k"), make([]byte, maxGenerationVal+1), false, 1) {
		t.Error("took a value too long for it")
	}
	if !g.put([]byte("k"), make([]byte, maxGenerationVal), false, 1) {
		t.Error("refused the longest value")
	}
	g.pos = maxArenaChunks*arenaChunkBytes - 10
	if g.put([]byte("key"), []byte("12345678"), false, 2) {
		t.Error("took more than there is room for")
	}
	if _, st := g.get(hashKey([]byte("key")), []byte("key"), 9); st != rowUnknown {
		t.Error("a refused row is there")
	}
}

// TestGenerationIsReadWhileItIsWritten has readers look for what they must find, while the writer
// adds later versions and other keys.
func TestGenerationIsReadWhileItIsWritten(t *testing.T) {
	g := newGeneration()
	const n = 500
	key := func(i int) []byte { return []byte(fmt.Sprint("key ", i)) }
	for i := range n {
		g.put(key(i), []byte("first"), false, 1)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for round := range 20 {
				for i := range n {
					k := key(i)
					if v, st := g.get(hashKey(k), k, 1); st != rowPresent || string(v) != "first" {
						errs <- fmt.Errorf("round %d: %s is %q, %d", round, k, v, st)
						return
					}
				}
			}
		}()
	}
	for seq := uint64(2); seq < 20; seq++ {
		for i := range 4 * n {
			g.put(key(i), []byte("later"), i%3 == 0, seq)
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestNewestRowsKeepsTheLastOnesAsTheyStand(t *testing.T) {
	r := newRand(2)
	g := newGeneration()
	type row struct {
		value string
		seq   uint64
	}
	model := map[string]row{}
	var order []string // by last write
	for seq := uint64(1); seq <= 3000; seq++ {
		k := fmt.Sprint("S key ", r.Intn(700))
		v := string(make([]byte, r.Intn(600)))
		deleted := r.Intn(5) == 0
		if !g.put([]byte(k), []byte(v), deleted, seq) {
			t.Fatal("full")
		}
		delete(model, k)
		order = slices.DeleteFunc(order, func(o string) bool { return o == k })
		if !deleted {
			model[k] = row{v, seq}
			order = append(order, k)
		}
	}
	for _, size := range []int{0, 1, 10_000, 1 << 30} {
		n := g.newestRows(size)
		got := 0
		for i := len(order) - 1; i >= 0; i-- {
			k := []byte(order[i])
			v, st := n.get(hashKey(k), k, 1<<60)
			if st == rowUnknown {
				break
			}
			if want := model[order[i]]; string(v) != want.value {
				t.Fatalf("%s: %q, want %q", k, v, want.value)
			}
			if _, st := n.get(hashKey(k), k, model[order[i]].seq-1); st != rowUnknown {
				t.Fatalf("%s is seen before it was written", k)
			}
			got++
		}
		if n.keys != got {
			t.Errorf("%d bytes: %d rows, the newest %d of them", size, n.keys, got)
		}
		if full := size > 1<<20; full != (got == len(model)) || size > 1 && got == 0 {
			t.Errorf("%d bytes: %d rows of %d", size, got, len(model))
		}
	}
}
