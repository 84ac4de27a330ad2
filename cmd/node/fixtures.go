package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/internal/fixtures"
)

const flagCodes = "codes"

var errFixtures = errors.New("tests failed")

func (a *app) fixturesCommand() *cli.Command {
	return &cli.Command{
		Name:      "fixtures",
		Usage:     "run Ethereum's blockchain tests for block access lists, without an EVM",
		UsageText: "balsa fixtures FILE|DIR ... [--codes FILE]",
		Description: "Runs the JSON files of execution-spec-tests, and tests as lines. Every valid " +
			"block must be proven, every invalid one rejected; those whose access list shows " +
			"nothing wrong, so that only executing them tells, are listed by name.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{
				Name: flagCodes, Sources: env(flagCodes), DefaultText: "those beside the tests",
				Usage: "file of codes by hash, for tests as lines", TakesFile: true,
			},
			applyFlag(),
			jsonFlag("print the results as JSON"),
		},
		Action: a.action(1, anyNumber, runFixtures),
	}
}

func runFixtures(ctx context.Context, c *cli.Command, s *session) error {
	start, latest, done := time.Now(), time.Now(), 0
	o := fixtures.Options{
		Paths: c.Args().Slice(), Codes: c.StringSlice(flagCodes), Apply: applyOf(c),
		Done: func(r *fixtures.Result) {
			done++
			if now := time.Now(); now.Sub(latest) >= progressInterval {
				latest = now
				s.log.Info("running tests", "done", done, "took", now.Sub(start).Round(time.Second))
			}
		},
	}
	results, err := interruptible(ctx, func() ([]*fixtures.Result, error) {
		return fixtures.RunAll(ctx, o)
	})
	if err != nil {
		return err
	}
	sum := fixtures.Summarize(results)
	if c.Bool(flagJSON) {
		err = s.printFixturesJSON(&sum, results)
	} else {
		err = s.printFixtures(&sum, results)
	}
	if sum.Failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d %w", sum.Failed, sum.Tests, errFixtures))
	}
	return err
}

func (s *session) printFixtures(sum *fixtures.Summary, results []*fixtures.Result) error {
	for _, r := range results {
		if r.Skipped == nil && !r.Passed() {
			s.printf("failed: %s (%s)\n", r.Test, r.File)
			for _, why := range failures(r) {
				s.printf("  %s\n", why)
			}
		}
	}
	if n := sum.Classes[fixtures.OnlyExecution]; n > 0 {
		s.printf("invalid, but only executing the block can tell (%d):\n", n)
		for _, name := range onlyExecution(results) {
			s.printf("  %s\n", name)
		}
		s.printf("\n")
	}
	w := tabwriter.NewWriter(s.app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "tests\t%d\n  passed\t%d\n  failed\t%d\n", sum.Tests, sum.Passed, sum.Failed)
	fmt.Fprintf(w, "  not run\t%d\nblocks\t%d\n", sum.Skipped, sum.Blocks)
	for _, class := range fixtures.Classes() {
		fmt.Fprintf(w, "  %s\t%d\n", class, sum.Classes[class])
	}
	return w.Flush()
}

// failures says why a test failed, a line each.
func failures(r *fixtures.Result) (why []string) {
	if r.Err != nil {
		why = append(why, r.Err.Error())
	}
	for i := range r.Blocks {
		if b := &r.Blocks[i]; b.Class == fixtures.Failed {
			expected := "valid"
			if b.Exception != "" {
				expected = b.Exception
			}
			why = append(why, fmt.Sprintf("block %d, expected %s: %v", b.Index, expected, b.Err))
		}
	}
	return why
}

func onlyExecution(results []*fixtures.Result) (names []string) {
	for _, r := range results {
		for i := range r.Blocks {
			if r.Blocks[i].Class == fixtures.OnlyExecution {
				names = append(names, r.Test)
			}
		}
	}
	return names
}

// classNames are the names of classes in JSON.
var classNames = map[fixtures.Class]string{
	fixtures.Proven: "proven", fixtures.RejectedHash: "rejectedHash",
	fixtures.RejectedRule: "rejectedRule", fixtures.RejectedItems: "rejectedItemLimit",
	fixtures.RejectedOrphan: "rejectedOrphanSlot", fixtures.RejectedRoot: "rejectedRoot",
	fixtures.RejectedHeader: "rejectedHeader",
	fixtures.OnlyExecution:  "onlyExecution", fixtures.Failed: "failed",
}

func (s *session) printFixturesJSON(sum *fixtures.Summary, results []*fixtures.Result) error {
	type failed struct {
		Test string   `json:"test"`
		File string   `json:"file"`
		Why  []string `json:"why"`
	}
	out := struct {
		Tests         int            `json:"tests"`
		Passed        int            `json:"passed"`
		Failed        int            `json:"failed"`
		Skipped       int            `json:"notRun"`
		Blocks        int            `json:"blocks"`
		Classes       map[string]int `json:"classes"`
		OnlyExecution []string       `json:"onlyExecution"`
		Failures      []failed       `json:"failures"`
	}{sum.Tests, sum.Passed, sum.Failed, sum.Skipped, sum.Blocks, make(map[string]int),
		append([]string{}, onlyExecution(results)...), []failed{}}
	for class, name := range classNames {
		out.Classes[name] = sum.Classes[class]
	}
	for _, r := range results {
		if r.Skipped == nil && !r.Passed() {
			out.Failures = append(out.Failures, failed{r.Test, r.File, failures(r)})
		}
	}
	return s.printJSON(out)
}
