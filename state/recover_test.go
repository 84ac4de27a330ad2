package state

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
)

// TestACrashAmongReorgsKeepsTheBranch goes forward and back at random, below checkpoints too, and
// crashes after each step, now and then in the middle of doing again what the log has.
func TestACrashAmongReorgsKeepsTheBranch(t *testing.T) {
	for seed := range int64(6) {
		fsys := NewCrashFS()
		s, c := builtStore(t, fsys, 40+seed)
		var undo []undone
		for range 60 / slowdown {
			if n := len(undo); n > 0 && c.r.Intn(5) < 2 {
				u := undo[n-1]
				if err := s.Revert(u.from, u.to, u.layer); err != nil {
					t.Fatal(err)
				}
				c.back(u)
				undo = undo[:n-1]
			} else {
				undo = append(undo, commitNext(t, s, c, 8))
			}
			want := allRows(t, s)
			left := fsys.Crash()
			half := mustOpen(t, testOptions(left))
			if logged := half.Logged(); len(logged) > 1 && c.r.Intn(2) == 0 {
				c.again(t, half, logged[0])
				left = left.Crash()
			}
			mustClose(t, half)
			again := c.openCrashed(t, left)
			c.check(t, again)
			sameRows(t, allRows(t, again), want)
			again = reopen(t, again)
			if n := len(again.Logged()); n > 0 {
				t.Fatalf("%d entries are left after a close", n)
			}
			sameRows(t, allRows(t, again), want)
			mustClose(t, again)
		}
		mustClose(t, s)
	}
}

func TestLoggedBlocksComeFirst(t *testing.T) {
	fsys := NewCrashFS()
	s, c := builtStore(t, fsys, 50)
	at := c.cursor
	commitNext(t, s, c, 5)
	u := commitNext(t, s, c, 5)
	o := testOptions(fsys.Crash())
	o.ReadOnly = true
	crashed := mustOpen(t, o)
	if got, _ := crashed.Cursor(); got != at || len(crashed.Logged()) != 2 {
		t.Fatalf("read-only at %v with %d logged, want %v and 2", got, len(crashed.Logged()), at)
	}
	mustClose(t, crashed)
	o.ReadOnly = false
	crashed = mustOpen(t, o)
	h, to := childOf(at, common.Hash{1})
	err := crashed.Commit(at, Block{Header: h, Hash: to.Hash}, new(Layer))
	if !errors.Is(err, ErrLogged) {
		t.Fatalf("another block: %v", err)
	}
	c.replay(t, crashed)
	if err := crashed.Revert(u.from, u.to, u.layer); err != nil {
		t.Fatal(err)
	}
	mustClose(t, crashed)
	mustClose(t, s)
}

func TestALogWithAGapIsCorrupt(t *testing.T) {
	fsys := NewCrashFS()
	s, c := builtStore(t, fsys, 51)
	for range 3 {
		commitNext(t, s, c, 5)
	}
	if err := s.db.Delete(logKey(nil, 2), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testOptions(fsys.Crash())); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("open: %v", err)
	}
	mustClose(t, s)
}

// TestCheckpointsKeepNoLog: what checkpoints include leaves the log, and with one a block nothing
// is ever to be done again.
func TestCheckpointsKeepNoLog(t *testing.T) {
	for _, every := range []int{1, 3} {
		fsys := NewCrashFS()
		s, c := builtStore(t, fsys, 52)
		mustClose(t, s)
		o := testOptions(fsys)
		o.CheckpointBlocks = every
		s = mustOpen(t, o)
		for range 20 {
			commitNext(t, s, c, 5)
			crashed := mustOpen(t, testOptions(fsys.Crash()))
			if n := len(crashed.Logged()); n > 3*every || every == 1 && n > 0 {
				t.Fatalf("%d blocks are to be done again, with a checkpoint every %d", n, every)
			}
			mustClose(t, crashed)
		}
		mustClose(t, s)
	}
}
