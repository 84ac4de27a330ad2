package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/flatfile"
)

func (a *app) exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the flat state to a file that import takes",
		UsageText: "balsa export --datadir DIR STATE.leaves",
		Description: "Writes all accounts, slots and codes with the header of their block, compressed: " +
			"the same bytes for the same state (docs/leaves-format.md). - is standard output. A file of " +
			"that name is replaced when the new one is whole.",
		Flags: []cli.Flag{
			dataDirFlag(), cacheFlag(), jsonFlag("print what was written as JSON"),
		},
		Action: a.action(1, 1, export),
	}
}

func export(ctx context.Context, c *cli.Command, s *session) error {
	start, latest := time.Now(), time.Now()
	progress := func(r balsa.ExportResult) {
		if now := time.Now(); now.Sub(latest) >= progressInterval {
			latest = now
			s.log.Info("exporting", "accounts", r.Accounts, "slots", r.Slots, "codes", r.Codes)
		}
	}
	var res balsa.ExportResult
	write := func(w io.Writer) (err error) {
		res, err = balsa.Export(ctx, s.engineOptions(c), w, progress)
		return err
	}
	path := c.Args().First()
	if path == flatfile.Stdin {
		return write(s.app.stdout) // that takes nothing else then
	}
	if err := writeWhole(path, write); err != nil {
		return err
	}
	took := time.Since(start)
	if c.Bool(flagJSON) {
		return s.printJSON(struct {
			Cursor  cursorJSON `json:"cursor"`
			Seconds float64    `json:"seconds"`
			flatfile.Counts
		}{jsonCursor(res.Cursor), took.Seconds(), res.Counts})
	}
	s.printf("%d accounts, %d slots and %d codes exported in %s\n", res.Accounts, res.Slots,
		res.Codes, took.Round(time.Millisecond))
	s.printf("cursor %s\n", formatCursor(res.Cursor))
	return nil
}

// writeWhole writes a file beside its place and moves it there when it is whole and on the disk.
// What is no regular file (a device, a pipe) is written to as it is, a link is followed.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	var once sync.Once
	closeFile := func() (err error) { once.Do(func() { err = f.Close() }); return err }
	defer func() {
		if err != nil {
			err = errors.Join(err, closeFile(), os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Chmod(0o644), closeFile()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
