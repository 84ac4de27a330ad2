package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/state"
)

const flagCounts = "counts"

func (a *app) statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show a store's cursor, rows and sizes, or what who has it open is doing",
		UsageText: "balsa status --datadir DIR [--json]",
		Flags: []cli.Flag{
			dataDirFlag(), jsonFlag("print it as JSON"),
			&cli.BoolFlag{
				Name: flagCounts, Sources: env(flagCounts), Value: true, DefaultText: "true",
				Usage: "count the rows, which reads the whole store: --counts=false leaves it out",
			},
		},
		Action: a.action(0, 0, status),
	}
}

// rowCounts are numbers of rows by key space.
type rowCounts struct {
	Accounts        uint64 `json:"accounts"`
	Slots           uint64 `json:"slots"`
	AccountBranches uint64 `json:"accountBranches"`
	StorageBranches uint64 `json:"storageBranches"`
	Codes           uint64 `json:"codes"`
	Headers         uint64 `json:"headers"`
	AccessLists     uint64 `json:"accessLists"`
	ReverseDiffs    uint64 `json:"reverseDiffs"`
}

// byteSizes are bytes on disk. All but Disk and Log are estimates, and leave out what is still in
// the log.
type byteSizes struct {
	Disk     uint64 `json:"disk"`
	Log      uint64 `json:"log"`
	Flat     uint64 `json:"flat"`
	Branches uint64 `json:"branches"`
	Codes    uint64 `json:"codes"`
	Blocks   uint64 `json:"blocks"`
}

// storeStatus is what a store shows of itself.
type storeStatus struct {
	Cursor  *cursorJSON `json:"cursor"` // null: no state yet
	ChainID uint64      `json:"chainId"`
	Phase   string      `json:"phase"` // ready, building, or empty
	Sizes   byteSizes   `json:"sizes"`
	Rows    *rowCounts  `json:"rows,omitempty"` // not with --counts=false
	// Logged is the number of blocks that were acknowledged before a crash, to be applied or undone
	// again when the store is opened for writing.
	Logged int `json:"logged"`
	// Build is the build that was cut off: of the state, or of its branch rows anew. Null: none.
	Build *buildStatus `json:"build"`
}

// buildStatus is how far a build had come that was cut off.
type buildStatus struct {
	Rebuild bool       `json:"rebuild"`
	Target  cursorJSON `json:"target"`
	Source  string     `json:"source,omitempty"`
	// Ranges is the number of runs of accounts whose storage tries are stored.
	Ranges     int    `json:"storageRanges"`
	BranchRows uint64 `json:"branchRows"`
	Bytes      uint64 `json:"bytes"` // of the branch rows
	Advice     string `json:"advice"`
}

func status(ctx context.Context, c *cli.Command, s *session) error {
	store, err := state.Open(state.Options{
		Dir: c.String(flagDataDir), ReadOnly: true, AllowUnfinished: true, Logger: s.log,
	})
	if errors.Is(err, state.ErrLocked) {
		return s.runningStatus(ctx, c, err)
	}
	if err != nil {
		return err
	}
	st, err := readStatus(ctx, store, c.Bool(flagCounts))
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		return s.printJSON(st)
	}
	return s.printStatus(st)
}

func readStatus(ctx context.Context, store *state.Store, counts bool) (*storeStatus, error) {
	st := &storeStatus{Phase: "empty", ChainID: store.ChainID()}
	if cursor, ok := store.Cursor(); ok {
		j := jsonCursor(cursor)
		st.Cursor, st.Phase = &j, "ready"
	}
	st.Logged = len(store.Logged())
	if err := st.readBuild(store); err != nil {
		return nil, err
	}
	size, err := store.Sizes()
	if err != nil {
		return nil, err
	}
	st.Sizes = byteSizes{size.Disk, size.Log, size.Flat, size.Branches, size.Codes, size.Blocks}
	if !counts {
		return st, nil
	}
	sn := store.NewSnapshot()
	n, err := sn.Counts(ctx)
	st.Rows = &rowCounts{n.Accounts, n.Slots, n.AccountBranches, n.StorageBranches, n.Codes,
		n.Headers, n.BALs, n.ReverseDiffs}
	return st, errors.Join(err, sn.Close())
}

// The advice for builds that were cut off.
const (
	adviceBuild = "run the balsa import or init again that was cut off: it goes on where it was. " +
		"Another one begins anew"
	adviceAnew = "run balsa rebuild again: it goes on where it was, unless blocks are applied " +
		"before. The store can be used meanwhile"
)

// readBuild says what build there is to go on with.
func (st *storeStatus) readBuild(store *state.Store) error {
	p, ok, err := store.Build()
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	st.Build = &buildStatus{
		Rebuild: p.Rebuild, Target: jsonCursor(p.Target), Source: p.Source, Ranges: p.Ranges,
		BranchRows: p.Rows, Bytes: p.Bytes, Advice: adviceBuild,
	}
	if p.Rebuild {
		st.Build.Advice = adviceAnew
	} else {
		st.Phase = "building"
	}
	return nil
}

func printBuild(w io.Writer, b *buildStatus) {
	what := "build cut off"
	if b.Rebuild {
		what = "rebuild cut off"
	}
	fmt.Fprintf(w, "%s\tof block %d (%s)\n", what, b.Target.Number, b.Target.Hash)
	if b.Source != "" {
		fmt.Fprintf(w, "  source\t%s\n", b.Source)
	}
	fmt.Fprintf(w, "  done\t%d branch rows, %d bytes, of %d runs of accounts\n", b.BranchRows,
		b.Bytes, b.Ranges)
	fmt.Fprintf(w, "what to do\t%s\n", b.Advice)
}

func (s *session) printStatus(st *storeStatus) error {
	w := tabwriter.NewWriter(s.app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "phase\t%s\n", st.Phase)
	if c := st.Cursor; c != nil {
		fmt.Fprintf(w, "block\t%d\nhash\t%s\nroot\t%s\n", c.Number, c.Hash, c.Root)
	}
	if st.Logged > 0 {
		fmt.Fprintf(w, "logged\t%d blocks beyond, which the next replay applies first\n", st.Logged)
	}
	if st.Build != nil {
		printBuild(w, st.Build)
	}
	fmt.Fprintf(w, "chain id\t%d\n", st.ChainID)
	for _, r := range []struct {
		name  string
		bytes uint64
	}{
		{"on disk", st.Sizes.Disk}, {"  log", st.Sizes.Log}, {"  flat state", st.Sizes.Flat},
		{"  branch rows", st.Sizes.Branches}, {"  codes", st.Sizes.Codes},
		{"  blocks", st.Sizes.Blocks},
	} {
		fmt.Fprintf(w, "%s\t%d bytes\n", r.name, r.bytes)
	}
	if n := st.Rows; n != nil {
		fmt.Fprintf(w, "accounts\t%d\nslots\t%d\n", n.Accounts, n.Slots)
		fmt.Fprintf(w, "branch rows\t%d of accounts, %d of storage\n", n.AccountBranches,
			n.StorageBranches)
		fmt.Fprintf(w, "codes\t%d\nheaders\t%d\naccess lists\t%d\nreverse diffs\t%d\n",
			n.Codes, n.Headers, n.AccessLists, n.ReverseDiffs)
	}
	return w.Flush()
}
