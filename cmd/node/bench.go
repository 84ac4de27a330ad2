package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"
)

func (a *app) benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure this machine",
		UsageText: "balsa bench bal|hash|storage [options]",
		Commands:  []*cli.Command{a.benchBALCommand(), a.benchHashCommand(), a.benchStorageCommand()},
		Action: func(_ context.Context, c *cli.Command) error {
			if name := c.Args().First(); name != "" {
				return fmt.Errorf("unknown benchmark %q", name)
			}
			return errors.New("which benchmark?")
		},
	}
}
