package endtoend

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/balsa-sync/balsa/internal/flatfile"
)

// The state that processes are killed over: large enough to be loaded and built in several pieces.
const (
	bulkAccounts = 60_000
	bulkSmall    = 20_000  // of them with one to three slots
	bulkLarge    = 450_000 // slots of one
)

// keyOf is the i-th of n hashes in ascending order, spread over all.
func keyOf(i, n int) (h common.Hash) {
	h = crypto.Keccak256Hash(binary.BigEndian.AppendUint64(nil, uint64(i)))
	binary.BigEndian.PutUint64(h[:], ^uint64(0)/uint64(n)*uint64(i))
	return h
}

// writeBulk writes a file of leaves whose root go-ethereum's StackTrie gives.
func writeBulk(t *testing.T, path string) {
	t.Helper()
	root := common.Hash{}
	for range 2 { // first for the root, which stands in the header
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewWriter(f)
		h := &types.Header{Number: new(big.Int), Difficulty: new(big.Int), Root: root}
		w, err := flatfile.NewWriter(out, 7, h)
		if err != nil {
			t.Fatal(err)
		}
		if root, err = bulkRows(w); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Finish(), out.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func bulkRows(w *flatfile.Writer) (common.Hash, error) {
	accounts := trie.NewStackTrie(nil)
	for i := range bulkAccounts {
		slots := 0
		switch {
		case i == bulkAccounts/3:
			slots = bulkLarge
		case i%3 == 0 && i/3 < bulkSmall:
			slots = 1 + i%7/3
		}
		root := types.EmptyRootHash
		if slots > 0 {
			root = slotRoot(slots)
		}
		hash := keyOf(i, bulkAccounts)
		a := types.StateAccount{
			Nonce: uint64(i), Balance: uint256.NewInt(uint64(i)), Root: root,
			CodeHash: types.EmptyCodeHash[:],
		}
		full, err := rlp.EncodeToBytes(&a)
		if err != nil {
			return root, err
		}
		if err := errors.Join(accounts.Update(hash[:], full),
			w.Account(hash, types.SlimAccountRLP(a))); err != nil {
			return root, err
		}
		for k := range slots {
			if err := w.Slot(keyOf(k, slots), slotValue(k)); err != nil {
				return root, err
			}
		}
	}
	return accounts.Hash(), nil
}

func slotValue(k int) []byte { return []byte{1 + byte(k%100)} }

var slotRoots = map[int]common.Hash{}

func slotRoot(slots int) common.Hash {
	if root, ok := slotRoots[slots]; ok {
		return root
	}
	tr := trie.NewStackTrie(nil)
	for k := range slots {
		key := keyOf(k, slots)
		if err := tr.Update(key[:], slotValue(k)); err != nil {
			panic(err)
		}
	}
	slotRoots[slots] = tr.Hash()
	return slotRoots[slots]
}

// Processes that are killed while they build leave a store that the next one goes on with.
func TestBuildsThatAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds balsa and runs it many times")
	}
	p := buildProgram(t)
	file := filepath.Join(t.TempDir(), "state.leaves")
	writeBulk(t, file)
	dir := filepath.Join(t.TempDir(), "whole")
	start := time.Now()
	p.must("import", "--datadir", dir, "--verify", file)
	takes := time.Since(start) * 2 / 3 // without verifying
	p.exports(dir, file)
	t.Run("imports", func(t *testing.T) { p.with(t).killImports(44, 6, takes, file) })
	t.Run("stopped imports", func(t *testing.T) { p.with(t).stopImports(46, 3, takes, file) })
	t.Run("rebuilds", func(t *testing.T) { p.with(t).killRebuilds(45, 4, takes, dir, file) })
}

// exports checks that a store has the state of a file: its export is the same file.
func (p *program) exports(dir, file string) {
	p.t.Helper()
	again := filepath.Join(p.t.TempDir(), "again.leaves")
	p.must("export", "--datadir", dir, again)
	want, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := os.ReadFile(again)
	if err != nil {
		p.t.Fatal(err)
	}
	if string(got) != string(want) {
		p.t.Fatalf("the export has %d bytes and is another than the file, which has %d", len(got),
			len(want))
	}
}

// killImports kills imports at random moments, each one going on where the one before was.
func (p *program) killImports(seed uint64, count int, takes time.Duration, file string) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	killed, wentOn := 0, 0
	for killed < count {
		dir := filepath.Join(p.t.TempDir(), "store")
		args := []string{"import", "--datadir", dir, file}
		for done := false; !done; {
			when := moment{later: time.Duration(rng.Int64N(int64(takes)))}
			code, said := p.runUntil(when, syscall.SIGKILL, args...)
			if strings.Contains(said.String(), "going on with the build") {
				wentOn++
			}
			switch code {
			case 0:
				done = true
			case -1:
				killed++
			default:
				p.t.Fatalf("exit code %d\n%s", code, said)
			}
			if killed >= count {
				p.must(args...)
				done = true
			}
		}
		p.cursor(dir)
		p.exports(dir, file)
		if err := os.RemoveAll(dir); err != nil {
			p.t.Fatal(err)
		}
	}
	p.t.Logf("%d kills, %d imports went on", killed, wentOn)
	if wentOn == 0 {
		p.t.Error("no import went on: the moments are badly chosen")
	}
}

// stopImports asks imports to stop: they end in order with the exit code 1 and say how to go on.
// status says how far they have come.
func (p *program) stopImports(seed uint64, count int, takes time.Duration, file string) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for stopped, runs := 0, 0; stopped < count; runs++ {
		if runs == 20*count {
			p.t.Fatalf("only %d of %d runs were still there to be stopped", stopped, runs)
		}
		dir := filepath.Join(p.t.TempDir(), "store")
		args := []string{"import", "--datadir", dir, file}
		when := moment{later: takes/10 + time.Duration(rng.Int64N(int64(takes)))}
		switch code, said := p.runUntil(when, syscall.SIGTERM, args...); code {
		case 0, -1: // it had ended, or had not begun to listen
			continue
		case 1:
			if !strings.Contains(said.String(), "run the same command again to go on") {
				p.t.Fatalf("it said %s", said)
			}
		default:
			p.t.Fatalf("exit code %d\n%s", code, said)
		}
		stopped++
		c, said := p.command("status", "--datadir", dir, "--counts=false")
		if err := c.Run(); err != nil || !strings.Contains(said.String(), "goes on where it was") {
			p.t.Fatalf("%v\n%s", err, said)
		}
		p.must(args...)
		p.exports(dir, file)
	}
}

// killRebuilds kills rebuilds of a store, which stays whole.
func (p *program) killRebuilds(seed uint64, count int, takes time.Duration, dir, file string) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	args := []string{"rebuild", "--datadir", dir}
	for killed, runs := 0, 0; killed < count; runs++ {
		if runs == 10*count {
			p.t.Fatalf("only %d of %d runs were still there to be killed", killed, runs)
		}
		when := moment{later: time.Duration(rng.Int64N(int64(takes)))}
		switch code, said := p.runUntil(when, syscall.SIGKILL, args...); code {
		case 0:
		case -1:
			killed++
			p.must("status", "--datadir", dir, "--counts=false")
		default:
			p.t.Fatalf("exit code %d\n%s", code, said)
		}
	}
	p.cursor(dir)
	p.must(append(args, "--verify")...)
	p.exports(dir, file)
}
