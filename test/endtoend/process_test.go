package endtoend

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/test/chaingen"
)

// kills is how often processes are killed in the middle of a replay.
const kills = 50

// program is the balsa binary with the sample chain.
type program struct {
	t        *testing.T
	binary   string
	genesis  string
	payloads string
	head     state.Cursor // the chain's last block as go-ethereum made it
	rows     map[string]string
}

// buildProgram builds the binary, always without the race detector, and replays the chain once.
func buildProgram(t *testing.T) *program {
	t.Helper()
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not there to build balsa with")
	}
	sample := filepath.Join("..", "chaingen", "sample")
	p := &program{
		t: t, binary: filepath.Join(t.TempDir(), "balsa"),
		genesis:  filepath.Join(sample, chaingen.GenesisFile),
		payloads: filepath.Join(sample, chaingen.PayloadsFile),
	}
	build := exec.CommandContext(t.Context(), compiler, "build", "-o", p.binary, "../../cmd/node")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p.head = lastPayload(t, p.payloads)
	dir := p.init()
	p.mustReplay(dir)
	p.rows = rowsOf(t, state.Options{Dir: dir, MustExist: true})
	return p
}

// lastPayload reads which block the chain ends at.
func lastPayload(t *testing.T, path string) state.Cursor {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	var last []byte
	for lines.Scan() {
		last = append(last[:0], lines.Bytes()...)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	var request struct{ Params []json.RawMessage }
	var payload struct {
		BlockNumber          hexutil.Uint64
		BlockHash, StateRoot common.Hash
	}
	if err := json.Unmarshal(last, &request); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(request.Params[0], &payload); err != nil {
		t.Fatal(err)
	}
	return state.Cursor{
		Number: uint64(payload.BlockNumber), Hash: payload.BlockHash, Root: payload.StateRoot,
	}
}

// with is the program for a subtest.
func (p *program) with(t *testing.T) *program {
	q := *p
	q.t = t
	return &q
}

// words collects what a process says on both of its streams, and can wait for some of it.
type words struct {
	mu      sync.Mutex
	all     bytes.Buffer
	missing int           // blocks that are still to be reported, or 0
	heard   chan struct{} // closed when they were
}

// blockApplied stands in the log's line of each block.
const blockApplied = `"msg":"block applied"`

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missing > 0 {
		// Lines come whole, or nearly always: it is only to choose a moment.
		if w.missing -= bytes.Count(b, []byte(blockApplied)); w.missing <= 0 {
			w.missing = 0
			close(w.heard)
		}
	}
	return w.all.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// command makes a process that has not started yet.
func (p *program) command(args ...string) (*exec.Cmd, *words) {
	c := exec.CommandContext(p.t.Context(), p.binary, args...)
	said := &words{heard: make(chan struct{})}
	c.Stdout, c.Stderr = said, said
	return c, said
}

func (p *program) must(args ...string) {
	p.t.Helper()
	c, said := p.command(args...)
	if err := c.Run(); err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, said)
	}
}

// init makes a store of the chain's genesis in a directory of its own.
func (p *program) init() (dir string) {
	p.t.Helper()
	dir = filepath.Join(p.t.TempDir(), "store")
	p.must("init", "--datadir", dir, p.genesis)
	return dir
}

func (p *program) replayArgs(dir string) []string {
	return []string{"replay", "--datadir", dir, "--verbosity", "4", "--log.format", "json",
		"--checkpoint.blocks", "8", p.payloads}
}

func (p *program) mustReplay(dir string) {
	p.t.Helper()
	p.must(p.replayArgs(dir)...)
}

// cursor is where a store stands that verifies.
func (p *program) cursor(dir string) state.Cursor {
	p.t.Helper()
	c, said := p.command("verify", "--datadir", dir, "--json", "--verbosity", "0")
	if err := c.Run(); err != nil {
		p.t.Fatalf("verify: %v\n%s", err, said)
	}
	var report struct{ Cursor state.Cursor }
	if err := json.Unmarshal([]byte(said.String()), &report); err != nil {
		p.t.Fatal(err)
	}
	return report.Cursor
}

// ended checks the store of a process that ended early: it must verify, and hold at least the
// block that it held before and the one that the process reported (I1), in its state or in its log.
// The next process applies what is in the log, unless it is killed as well.
func (p *program) ended(dir string, atLeast uint64) (at uint64) {
	p.t.Helper()
	at = p.cursor(dir).Number
	s, err := state.Open(state.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, l := range s.Logged() {
		if at++; l.Undone || l.Number != at {
			p.t.Fatalf("the log has %v where block %d should be", l, at)
		}
	}
	if err := s.Close(); err != nil {
		p.t.Fatal(err)
	}
	if at < atLeast {
		p.t.Fatalf("the cursor is block %d; block %d was applied before", at, atLeast)
	}
	return at
}

// finished checks a store whose replay came to its end, and removes it: it is at the chain's head,
// and has every row as if nothing had happened.
func (p *program) finished(dir string) {
	p.t.Helper()
	if got := p.cursor(dir); got != p.head {
		p.t.Fatalf("the cursor is %v, want %v", got, p.head)
	}
	sameRows(p.t, rowsOf(p.t, state.Options{Dir: dir, MustExist: true}), p.rows)
	if err := os.RemoveAll(dir); err != nil { // its logs take room before they are full
		p.t.Fatal(err)
	}
}

// reported is the last block that a process's log says it applied.
func reported(said *words) (last uint64) {
	for line := range strings.Lines(said.String()) {
		var entry struct {
			Msg    string
			Number uint64
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "block applied" {
			last = entry.Number
		}
	}
	return last
}

// exitCode is a process's exit code; -1 where a signal ended it.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// moment is when a signal comes: after some blocks were applied, and a little later.
type moment struct {
	blocks int
	later  time.Duration
}

// someMoment draws one: before the first block, or in the course of the next ones.
func someMoment(rng *rand.Rand) moment {
	m := moment{blocks: max(0, rng.IntN(70)-10)}
	if m.blocks == 0 {
		m.later = time.Duration(rng.Int64N(int64(60 * time.Millisecond)))
	} else {
		m.later = time.Duration(rng.Int64N(int64(3 * time.Millisecond)))
	}
	return m
}

// patience is how long a process may take that should end by itself. It guards against hanging.
const patience = time.Minute

// runUntil runs a command and sends it a signal at the moment, unless it has ended by then. It
// returns how the process ended.
func (p *program) runUntil(m moment, s os.Signal, args ...string) (int, *words) {
	p.t.Helper()
	c, said := p.command(args...)
	if said.missing = m.blocks; m.blocks == 0 {
		close(said.heard)
	}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	hangs := time.AfterFunc(patience, func() { c.Process.Signal(syscall.SIGQUIT) })
	defer hangs.Stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-said.heard:
		case <-ended:
			return
		}
		select {
		case <-time.After(m.later):
			c.Process.Signal(s) // it may have ended
		case <-ended:
		}
	}()
	return exitCode(p.t, c.Wait()), said
}

// Processes that end before their time leave a store that the next one goes on with.
func TestProcessesThatEndEarly(t *testing.T) {
	if testing.Short() {
		t.Skip("builds balsa and runs it many times")
	}
	p := buildProgram(t)
	t.Run("killed in the middle of a replay", func(t *testing.T) { p.with(t).killReplays(41, kills) })
	t.Run("killed in the middle of init", func(t *testing.T) { p.with(t).killInits(42, 10) })
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("stopped by "+s.String(), func(t *testing.T) { p.with(t).stopReplays(43, 3, s) })
	}
}

// killReplays kills replays (kill -9) at random moments until count were killed, over as many
// chains as that takes. Each next process goes on, and every chain ends at the head.
func (p *program) killReplays(seed uint64, count int) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	killed, chains, between, reports := 0, 0, 0, 0
	for ; killed < count; chains++ {
		if chains > 2*count {
			p.t.Fatalf("only %d replays over %d chains were still there to be killed", killed, chains)
		}
		dir, at := p.init(), uint64(0)
		for done := false; !done; {
			when := someMoment(rng)
			if killed >= count {
				when.blocks = int(p.head.Number) + 1 // never: the last chain comes to its end
			}
			code, said := p.runUntil(when, syscall.SIGKILL, p.replayArgs(dir)...)
			switch code {
			case 0:
				done = true
			case -1:
				killed++
				before, last := at, reported(said)
				if last > 0 {
					reports++
				}
				at = p.ended(dir, max(at, last))
				if at > before && at < p.head.Number {
					between++
				}
			default:
				p.t.Fatalf("exit code %d\n%s", code, said)
			}
		}
		p.finished(dir)
	}
	p.t.Logf("%d kills over %d chains, %d of them between two blocks", killed, chains, between)
	if between < count/10 || reports < count/10 {
		p.t.Errorf("%d of %d kills came between two blocks, %d after a report: "+
			"the moments are badly chosen", between, count, reports)
	}
}

// killInits kills init (kill -9) at random moments. The next one starts over, or finds it done.
func (p *program) killInits(seed uint64, count int) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	start := time.Now()
	want := rowsOf(p.t, state.Options{Dir: p.init(), MustExist: true})
	takes := min(time.Since(start), 200*time.Millisecond)
	for killed, runs := 0, 0; killed < count; runs++ {
		if runs == 10*count {
			p.t.Fatalf("only %d of %d runs were still there to be killed", killed, runs)
		}
		dir := filepath.Join(p.t.TempDir(), "store")
		args := []string{"init", "--datadir", dir, p.genesis}
		when := moment{later: time.Duration(rng.Int64N(int64(takes)))}
		code, said := p.runUntil(when, syscall.SIGKILL, args...)
		switch code {
		case 0:
			continue
		case -1:
			killed++
		default:
			p.t.Fatalf("exit code %d\n%s", code, said)
		}
		p.must(args...)
		p.cursor(dir)
		sameRows(p.t, rowsOf(p.t, state.Options{Dir: dir, MustExist: true}), want)
	}
}

// stopReplays asks replays to stop, count times on their way through one chain: they end by
// themselves with the exit code 1 and say how to go on, which the next one does.
func (p *program) stopReplays(seed uint64, count int, s os.Signal) {
	p.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, at := p.init(), uint64(0)
	for range count {
		when := someMoment(rng)
		when.blocks = max(1, when.blocks) // before it has begun, it cannot stop in order
		code, said := p.runUntil(when, s, p.replayArgs(dir)...)
		if code != 1 || !strings.Contains(said.String(), "interrupted") {
			p.t.Fatalf("exit code %d\n%s", code, said)
		}
		at = p.ended(dir, max(at, reported(said)))
	}
	p.mustReplay(dir)
	p.finished(dir)
}
