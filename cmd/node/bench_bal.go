package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/internal/balbench"
)

const (
	flagFamilies      = "families"
	flagAccounts      = "accounts"
	flagGrowth        = "growth"
	flagSizes         = "sizes"
	flagBlocks        = "blocks"
	flagBlockAccounts = "block.accounts"
	flagWarmup        = "warmup"
	flagGeth          = "geth"
	flagControl       = "control"
	flagVersus        = "versus"
)

func (a *app) benchBALCommand() *cli.Command {
	return &cli.Command{
		Name:  "bal",
		Usage: "apply block access lists, each way in turn, and go-ethereum beside them",
		UsageText: "balsa bench bal [--families transfers,mixed] [--accounts 20000,1000000]\n" +
			"                [--growth 100000,1000000,10000000] [--sizes 100,1000,30000]\n" +
			"                [--rounds 5] [--blocks 10] [--geth=false] [--out DIR] [--json]",
		Description: "Makes states, gives every contestant a store of each, and takes the same blocks " +
			"through all of them, a segment to each in turn. Ratios are taken round by round; a second " +
			"contestant of each of Balsa's paths shows what is noise. Families: " +
			strings.Join(balbench.FamilyNames(), ", ") + ".",
		Flags:  benchBALFlags(),
		Action: a.action(0, 0, lean(benchBAL)),
	}
}

func benchBALFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: flagFamilies, Sources: env(flagFamilies), DefaultText: "all",
			Usage: "kinds of blocks, separated by commas; none for no table of families",
		},
		numbersFlag(flagAccounts, "20000,1000000", "plain accounts of the states for the families"),
		numbersFlag(flagGrowth, "", "plain accounts of the states that mixed blocks are compared on"),
		numbersFlag(flagSizes, "", "accounts a block at which mixed blocks are compared, on the "+
			"largest state"),
		positiveFlag(flagRounds, 5, "rounds that medians are taken of"),
		positiveFlag(flagBlocks, 10, "blocks of a round"),
		&cli.IntFlag{
			Name: flagBlockAccounts, Sources: env(flagBlockAccounts), DefaultText: "0: each family's own",
			Usage: "accounts that a block changes, slots in proportion",
		},
		&cli.IntFlag{
			Name: flagWarmup, Sources: env(flagWarmup), Value: 3,
			Usage: "blocks that go before and are not measured",
		},
		boolFlag(flagGeth, true, "go-ethereum takes part and gives the roots"),
		boolFlag(flagControl, true, "a second contestant of each path"),
		boolFlag(flagNoSync, true, "do not wait for the disk, as go-ethereum does not"),
		workersFlag(),
		&cli.IntFlag{
			Name: flagVersus, Sources: env(flagVersus), DefaultText: "0: none",
			Usage: "workers that are compared with one, on mixed blocks and the largest state",
		},
		&cli.StringFlag{
			Name: flagDataDir, Sources: env(flagDataDir), TakesFile: true,
			Usage:       "folder for the stores, which stay there",
			DefaultText: "a temporary folder",
		},
		&cli.StringFlag{
			Name: flagOut, Sources: env(flagOut), TakesFile: true,
			Usage: "folder for the plots, as SVG", DefaultText: "none are drawn",
		},
		cacheFlag(), jsonFlag("print the report as JSON"),
	}
}

func boolFlag(name string, value bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Sources: env(name), Value: value, Usage: usage,
		DefaultText: strconv.FormatBool(value)}
}

func numbersFlag(name, value, usage string) cli.Flag {
	f := &cli.StringFlag{
		Name: name, Sources: env(name), Value: value, Usage: usage + ", separated by commas",
		Validator: func(text string) error {
			_, err := numbers(name, text)
			return err
		},
	}
	if value == "" {
		f.DefaultText = "none"
	}
	return f
}

// numbers reads positive numbers that are separated by commas; none of an empty text.
func numbers(flag, text string) (all []int, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s: %q is no number above 0", flag, word)
		}
		all = append(all, n)
	}
	return all, nil
}

// balPlan reads what is to be measured from the flags.
func balPlan(c *cli.Command) (p balbench.Plan, err error) {
	p.BlockAccounts, p.Workers = c.Int(flagBlockAccounts), c.Int(flagVersus)
	p.Control = c.Bool(flagControl)
	if text := c.String(flagFamilies); text != "none" {
		var names []string
		if text != "" {
			names = strings.Split(text, ",")
		}
		if p.Families, err = balbench.FamiliesByName(names); err != nil {
			return p, err
		}
	}
	for _, of := range []struct {
		flag string
		to   *[]int
	}{{flagAccounts, &p.States}, {flagGrowth, &p.Growth}, {flagSizes, &p.Sizes}} {
		if *of.to, err = numbers(of.flag, c.String(of.flag)); err != nil {
			return p, err
		}
	}
	return p, p.Validate()
}

func benchBAL(ctx context.Context, c *cli.Command, s *session) (err error) {
	p, err := balPlan(c)
	if err != nil {
		return &usageError{err}
	}
	o := balbench.Options{
		CacheBytes: int64(c.Int(flagCache)) << 20, NoSync: c.Bool(flagNoSync),
		Workers: c.Int(flagWorkers), Rounds: c.Int(flagRounds), Blocks: c.Int(flagBlocks),
		Warmup: c.Int(flagWarmup), Geth: c.Bool(flagGeth), Logger: s.log,
	}
	if err := o.Validate(); err != nil {
		return &usageError{err}
	}
	out, dir := c.String(flagOut), c.String(flagDataDir)
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "balsa-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	rep, err := balbench.Measure(ctx, dir, p, o)
	if err != nil {
		return err
	}
	if out != "" {
		if err := rep.Draw(out); err != nil {
			return err
		}
	}
	if c.Bool(flagJSON) {
		return s.printJSON(rep)
	}
	if err := rep.WriteTable(s.app.stdout); err != nil {
		return err
	}
	for _, file := range rep.Plots {
		s.printf("plot %s\n", file)
	}
	return nil
}
