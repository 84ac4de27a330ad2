package simulation

import (
	"bytes"
	"cmp"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Child() {
		return
	}
	os.Exit(m.Run())
}

// Two thousand seeds pass; with -short two hundred. More of them: make simulate SEEDS=...
func TestSeeds(t *testing.T) {
	s := Seeds{
		From: 1, N: 2000, Procs: runtime.NumCPU(), Chunk: 100, MaxFailures: 3, Cores: 2,
	}
	if testing.Short() {
		s.N = 200
	}
	start := time.Now()
	sum := Spread(s)
	var out bytes.Buffer
	sum.Print(&out, time.Since(start))
	t.Log(out.String())
	if len(sum.Failures) > 0 {
		t.Fail()
	}
	if sum.Faulty == 0 || len(sum.Faults) < int(faultKinds)-1 {
		t.Errorf("only %d kinds of faults were injected: %v", len(sum.Faults), sum.Faults)
	}
}

// I8: a seed gives the same run in every process, whatever the number of cores.
func TestASeedGivesTheSameRunInEveryProcess(t *testing.T) {
	s := Seeds{
		From: 5000, N: 50, Procs: 2, Chunk: 10, MaxFailures: 1, Fingerprints: true, Cores: 1,
	}
	one := Spread(s)
	s.Chunk, s.Cores = 25, 4
	two := Spread(s)
	for _, sum := range []*Sum{&one, &two} {
		if len(sum.Failures) > 0 || sum.Seeds != 50 {
			t.Fatalf("%d seeds, %+v", sum.Seeds, sum.Failures)
		}
		slices.SortFunc(sum.Fingerprints, func(a, b Print) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	for i := range one.Fingerprints {
		if one.Fingerprints[i] != two.Fingerprints[i] {
			t.Errorf("seed %d has two fingerprints", one.Fingerprints[i].Seed)
		}
	}
}

// The oracle has something to say: where the rows are not the ones at the block, it fails.
func TestTheOracleTellsARowThatIsNotRight(t *testing.T) {
	r := newRun(3, newBase(), nil)
	r.open()
	genesis := r.chain.genesis()
	r.faults.stop()
	r.build(genesis, false)
	next := r.chain.next(genesis)
	for len(next.list) < 4 {
		next = r.chain.next(genesis)
	}
	r.compareRows(r.node.store, genesis, "as it is")
	if r.err != nil {
		t.Fatal(r.err)
	}
	r.compareRows(r.node.store, next, "not as it is")
	if r.err == nil {
		t.Fatal("rows of the genesis pass for those of block 1")
	}
	r.closeViews()
	if err := r.node.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// Seeds that failed once, with what they found.
func TestSeedsThatFailedOnce(t *testing.T) {
	var w Worker
	for seed, found := range map[uint64]string{
		548:  "a request outlived a restart in the mailbox and took credit that was counted anew",
		1803: "a directory's sync failed under a flush while the store opened, and Pebble panicked",
		1510: "a worker's late answer was taken for that of another job of the same block",
		5007: "a StorageActor's restart had more asked for again than there is credit for",
	} {
		if res := w.Run(seed, nil); res.Err != nil {
			t.Errorf("seed %d (%s): %v", seed, found, res.Err)
		}
	}
}
