package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/internal/hashbench"
)

const (
	flagLeaves = "leaves"
	flagRounds = "rounds"
)

func (a *app) benchHashCommand() *cli.Command {
	return &cli.Command{
		Name:      "hash",
		Usage:     "Keccak-256 and tries at each number of lanes, beside x/crypto and StackTrie",
		UsageText: "balsa bench hash [--json]",
		Description: "Messages of 32, 100 and 532 bytes, one trie of a million leaves, 100,000 tries " +
			"of ten, with values of 9 and 100 bytes; on one core, the sides taking turns. Takes a few " +
			"minutes.",
		Flags: []cli.Flag{
			positiveFlag(flagLeaves, 1_000_000, "leaves of the large trie, and of all small ones"),
			positiveFlag(flagRounds, 5, "rounds that medians are taken of"),
			jsonFlag("print the report as JSON"),
		},
		Action: a.action(0, 0, benchHash),
	}
}

// positiveFlag is a flag for a number of at least one.
func positiveFlag(name string, value int, usage string) cli.Flag {
	return &cli.IntFlag{
		Name: name, Sources: env(name), Value: value, Usage: usage,
		Validator: func(n int) error {
			if n < 1 {
				return fmt.Errorf("--%s %d is not positive", name, n)
			}
			return nil
		},
	}
}

func benchHash(ctx context.Context, c *cli.Command, s *session) error {
	r, err := hashbench.Run(ctx, hashbench.Options{
		Leaves: c.Int(flagLeaves), Rounds: c.Int(flagRounds),
		Progress: func(what string) { s.log.Info("measuring", "what", what) },
	})
	if errors.Is(err, hashbench.ErrBadOptions) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		return s.printJSON(r)
	}
	return r.WriteTable(s.app.stdout)
}
