package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/state"
)

const flagCounts = "counts"

func (a *app) statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show a store's cursor, rows and sizes",
		UsageText: "balsa status --datadir DIR [--json]",
		Flags: []cli.Flag{
			dataDirFlag(), jsonFlag("print it as JSON"),
			&cli.BoolFlag{
				Name: flagCounts, Sources: env(flagCounts), Value: true,
				Usage: "count the rows, which reads the whole store: --counts=false leaves it out",
			},
		},
		Action: a.action(0, 0, status),
	}
}

// rowCount is how much of one kind there is in a store.
type rowCount struct {
	Rows  uint64 `json:"rows"`
	Bytes uint64 `json:"bytes"` // of keys and values, before compression
}

// keySpaces are the kinds of rows by the first byte of their keys; see package state.
var keySpaces = []struct {
	prefix byte
	name   string
}{
	{'a', "accounts"}, {'s', "slots"}, {'A', "accountBranches"}, {'S', "storageBranches"},
	{'c', "codes"}, {'h', "headers"}, {'n', "blockNumbers"}, {'b', "accessLists"},
	{'r', "reverseDiffs"}, {'m', "meta"},
}

// storeStatus is what a store shows of itself.
type storeStatus struct {
	Cursor    *cursorJSON         `json:"cursor"` // null: no state yet
	ChainID   uint64              `json:"chainId"`
	Phase     string              `json:"phase"` // ready, or empty
	DiskBytes int64               `json:"diskBytes"`
	Rows      map[string]rowCount `json:"rows,omitempty"` // by key space
}

func status(ctx context.Context, c *cli.Command, s *session) error {
	dir := c.String(flagDataDir)
	store, err := state.Open(state.Options{Dir: dir, ReadOnly: true, Logger: s.log})
	if err != nil {
		return err
	}
	st, err := readStatus(ctx, store, dir, c.Bool(flagCounts))
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		return s.printJSON(st)
	}
	return s.printStatus(st)
}

func readStatus(ctx context.Context, store *state.Store, dir string, counts bool) (*storeStatus, error) {
	st := &storeStatus{Phase: "empty", ChainID: store.ChainID()}
	if cursor, ok := store.Cursor(); ok {
		j := jsonCursor(cursor)
		st.Cursor, st.Phase = &j, "ready"
	}
	var err error
	if st.DiskBytes, err = diskBytes(dir); err != nil || !counts {
		return st, err
	}
	var bySpace [256]rowCount
	err = store.Rows(func(key, value []byte) error {
		r := &bySpace[key[0]]
		if r.Rows++; r.Rows%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("counting rows: %w", ctx.Err())
		}
		r.Bytes += uint64(len(key) + len(value))
		return nil
	})
	st.Rows = make(map[string]rowCount, len(keySpaces))
	for _, k := range keySpaces {
		st.Rows[k.name] = bySpace[k.prefix]
	}
	return st, err
}

// diskBytes sums the sizes of a directory's files.
func diskBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

func (s *session) printStatus(st *storeStatus) error {
	w := tabwriter.NewWriter(s.app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "phase\t%s\n", st.Phase)
	if st.Cursor != nil {
		fmt.Fprintf(w, "block\t%d\nhash\t%s\nroot\t%s\n", st.Cursor.Number, st.Cursor.Hash,
			st.Cursor.Root)
	}
	fmt.Fprintf(w, "chain id\t%d\non disk\t%d bytes\n", st.ChainID, st.DiskBytes)
	if err := w.Flush(); err != nil || st.Rows == nil {
		return err
	}
	w = tabwriter.NewWriter(s.app.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nkey space\trows\tbytes\t\n")
	for _, k := range keySpaces {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", k.name, st.Rows[k.name].Rows, st.Rows[k.name].Bytes)
	}
	return w.Flush()
}
