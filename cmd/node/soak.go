package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
)

const (
	flagShadow      = "shadow"
	flagShadowEvery = "shadow.every"
	flagEvery       = "every"
	flagPace        = "pace"
)

// errSoak: a soak did not pass.
var errSoak = errors.New("the soak failed")

func shadowEveryFlag(name string) cli.Flag {
	return &cli.Uint64Flag{
		Name: name, Sources: env(name), DefaultText: "0: every block",
		Usage: "compare only the blocks whose number this divides",
	}
}

func (a *app) soakCommand() *cli.Command {
	return &cli.Command{
		Name:      "soak",
		Usage:     "replay with every root computed a second way, and give a verdict",
		UsageText: "balsa soak --datadir DIR FILE|DIR|- ...",
		Description: "A replay with the shadow on: each block's root is computed again by a journaled " +
			"world state over a classic trie, which shares no code with the engine but the reading " +
			"of the store. It passes only if at least one block was compared, none differed and no " +
			"comparison failed, and exits with 3 otherwise.",
		Flags: append(replayFlags(), shadowEveryFlag(flagEvery),
			&cli.BoolFlag{
				Name: flagPace, Sources: env(flagPace), Value: true, DefaultText: "true",
				Usage: "wait for the shadow where it falls behind; otherwise blocks that come while it " +
					"is busy are not compared",
			},
		),
		Action: a.action(1, anyNumber, soak),
	}
}

func soak(ctx context.Context, c *cli.Command, s *session) error {
	o := s.engineOptions(c)
	o.Shadow = balsa.ShadowOptions{Enabled: true, Every: c.Uint64(flagEvery), Faults: s.app.faults}
	if err := o.Shadow.Validate(); err != nil {
		return err
	}
	hooks := replayHooks{
		before: s.soaking(time.Now, c.Bool(flagPace), o.Shadow.MaxQueued),
		after: func(ctx context.Context, e *balsa.Engine) error {
			if ctx.Err() != nil {
				return nil // what waits is counted as skipped
			}
			return e.AwaitShadow(ctx, 0)
		},
	}
	sum, err := s.replayFiles(ctx, c, o, hooks)
	if sum == nil {
		return err
	}
	err = errors.Join(err, soakVerdict(sum.Shadow))
	return errors.Join(err, s.printSoak(*sum, c.Bool(flagJSON), err))
}

// soaking is called before each block. It says now and then how things stand, and, if it is to
// pace, waits until the shadow can take the block.
func (s *session) soaking(now func() time.Time, pace bool, queue int) func(
	context.Context, *balsa.Engine) error {
	latest := now()
	return func(ctx context.Context, e *balsa.Engine) error {
		if t := now(); t.Sub(latest) >= progressInterval {
			latest = t
			st := e.ShadowStats()
			s.log.Info("soaking", "block", e.Cursor().Number, "verdict", runningVerdict(st),
				"shadow", shadowLine(st))
		}
		if !pace {
			return nil
		}
		return e.AwaitShadow(ctx, queue)
	}
}

// soakVerdict says why a soak did not pass.
func soakVerdict(st balsa.ShadowStats) error {
	switch {
	case st.Mismatches > 0:
		return fmt.Errorf("%w: %d of %d roots differ", errSoak, st.Mismatches, st.Comparisons)
	case st.Failures > 0:
		return fmt.Errorf("%w: %d comparisons could not be made", errSoak, st.Failures)
	case st.Comparisons == 0:
		return fmt.Errorf("%w: nothing was compared", errSoak)
	}
	return nil
}

func runningVerdict(st balsa.ShadowStats) string {
	if err := soakVerdict(st); err != nil && st.Comparisons+st.Failures > 0 {
		return err.Error()
	}
	if st.Comparisons == 0 {
		return "nothing compared yet"
	}
	return "good so far"
}

// shadowLine is a shadow's counts as text.
func shadowLine(st balsa.ShadowStats) string {
	text := fmt.Sprintf("%d roots compared, %d mismatches, %d failures, %d skipped",
		st.Comparisons, st.Mismatches, st.Failures, st.Skipped.Total())
	if k := st.Skipped; k.Total() > 0 {
		text += fmt.Sprintf(" (busy %d, off %d, thinned %d, no parent %d, before Amsterdam %d, "+
			"closing %d)", k.Busy, k.Off, k.Thinned, k.NoParent, k.BeforeAmsterdam, k.Closing)
	}
	if done := st.Comparisons; done > 0 {
		text += fmt.Sprintf(", %.2f ms each", float64(st.Took.Microseconds())/1000/float64(done))
	}
	return text
}

// shadowJSON is a shadow's counts.
type shadowJSON struct {
	Requests    uint64            `json:"requests"`
	Comparisons uint64            `json:"comparisons"`
	Mismatches  uint64            `json:"mismatches"`
	Failures    uint64            `json:"failures"`
	Skipped     map[string]uint64 `json:"skipped"`
	Seconds     float64           `json:"seconds"`
}

func jsonShadow(st balsa.ShadowStats) shadowJSON {
	return shadowJSON{
		st.Requests, st.Comparisons, st.Mismatches, st.Failures, st.Skipped.ByReason(),
		st.Took.Seconds(),
	}
}

// printSoak prints the verdict, also where the replay ended with an error.
func (s *session) printSoak(sum replaySummary, asJSON bool, failed error) error {
	if asJSON {
		out := struct {
			Passed  bool       `json:"passed"`
			Applied int        `json:"blocksApplied"`
			Seconds float64    `json:"seconds"`
			Shadow  shadowJSON `json:"shadow"`
			Cursor  cursorJSON `json:"cursor"`
			Error   string     `json:"error,omitempty"`
		}{
			Passed: failed == nil, Applied: sum.Applied, Seconds: sum.Took.Seconds(),
			Shadow: jsonShadow(sum.Shadow), Cursor: jsonCursor(sum.Cursor),
		}
		if failed != nil {
			out.Error = failed.Error()
		}
		return s.printJSON(out)
	}
	verdict := "passed"
	if failed != nil {
		verdict = "failed"
	}
	s.printf("soak %s: %d blocks applied in %s, %s, cursor %s\n", verdict, sum.Applied,
		sum.Took.Round(time.Millisecond), shadowLine(sum.Shadow), formatCursor(sum.Cursor))
	return nil
}
