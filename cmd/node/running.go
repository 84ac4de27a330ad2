package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/telemetry"
)

// runningStatus shows what the process shows that has the store open.
func (s *session) runningStatus(ctx context.Context, c *cli.Command, locked error) error {
	raw, err := askRunning(ctx, c.String(flagDataDir))
	if err != nil {
		return errors.Join(locked, err)
	}
	st := new(telemetry.Status)
	if err := json.Unmarshal(raw, st); err != nil {
		return errors.Join(locked, fmt.Errorf("%w: %w", errNoStatusPage, err))
	}
	if c.Bool(flagJSON) {
		return s.printJSON(struct {
			Phase   string            `json:"phase"`
			Running *telemetry.Status `json:"running"`
		}{"running", st})
	}
	return writeRunning(s.app.stdout, st)
}

func writeRunning(out io.Writer, st *telemetry.Status) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "phase\trunning\nfor\t%s\n", secondsText(st.Seconds))
	if p := st.Progress; p != nil {
		fmt.Fprintf(w, "command\t%s: %s\n", p.Command, p.Phase)
		if p.Share >= 0 {
			fmt.Fprintf(w, "  done\t%.1f %%\n", 100*p.Share)
		}
		if p.Remaining != nil {
			fmt.Fprintf(w, "  left\t%s\n", secondsText(*p.Remaining))
		}
		names := make([]string, 0, len(p.Counts))
		for name := range p.Counts {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(w, "  %s\t%.6g\n", name, p.Counts[name])
		}
	}
	if n := len(st.Blocks); n > 0 {
		b := &st.Blocks[n-1]
		fmt.Fprintf(w, "block\t%d\nhash\t%s\n  took\t%.3f ms\n", b.Number, b.Hash, 1e3*b.Total)
		if b.Lag != nil {
			fmt.Fprintf(w, "  root lag\t%.3f ms\n", 1e3**b.Lag)
		}
		if b.Error != "" {
			fmt.Fprintf(w, "  rejected\t%s\n", b.Error)
		}
	}
	if r := st.Storage; r != nil {
		fmt.Fprintf(w, "storage tries\t%d accounts, %d leaves, %.0f leaves/s\n", r.Accounts,
			r.Leaves, r.Rate1M.LeavesPerS)
	}
	fmt.Fprintf(w, "shadow\t%s\n", st.Verdict)
	restarts, depth := uint64(0), 0
	for i := range st.Actors {
		restarts, depth = restarts+st.Actors[i].Restarts, depth+st.Actors[i].Depth
	}
	fmt.Fprintf(w, "actors\t%d, %d messages wait, %d restarts, %d dead letters\n", len(st.Actors),
		depth, restarts, st.System.DeadLetters)
	if m := st.Store; m != nil {
		fmt.Fprintf(w, "store\t%d bytes on disk, %d write stalls\n", m.DiskBytes, m.Stalls)
	}
	return w.Flush()
}

func secondsText(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
