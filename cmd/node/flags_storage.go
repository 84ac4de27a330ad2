package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
)

// Flags of the commands that build tries.
const (
	flagStorageWorkers       = "storage.workers"
	flagStorageLargeLeaves   = "storage.large-leaves"
	flagStorageBatchAccounts = "storage.batch-accounts"
	flagStorageBatchLeaves   = "storage.batch-leaves"
)

// storageFlags say how the StorageActor works.
func storageFlags() []cli.Flag {
	flags := make([]cli.Flag, 0, 4)
	for _, f := range []struct {
		name, usage, def string
		set              func(o *balsa.StorageOptions, n int)
	}{
		{
			flagStorageWorkers, "workers that build tries", "0: one a CPU",
			func(o *balsa.StorageOptions, n int) { o.Workers = n },
		},
		{
			flagStorageLargeLeaves, "slots from which on an account is built alone", "0: 50000",
			func(o *balsa.StorageOptions, n int) { o.LargeLeaves = n },
		},
		{
			flagStorageBatchAccounts, "the most accounts of a batch", "0: 64",
			func(o *balsa.StorageOptions, n int) { o.BatchAccounts = n },
		},
		{
			flagStorageBatchLeaves, "slots at which a batch is full", "0: 32768",
			func(o *balsa.StorageOptions, n int) { o.BatchLeaves = n },
		},
	} {
		flags = append(flags, &cli.IntFlag{
			Name: f.name, Sources: env(f.name), Usage: f.usage, DefaultText: f.def,
			Validator: func(n int) error {
				o := balsa.Options{Dir: "x"}
				f.set(&o.Storage, n)
				if err := o.Validate(); err != nil {
					return usagef("--%s %d: %w", f.name, n, err)
				}
				return nil
			},
		})
	}
	return flags
}

// storageOptions are what the flags say. Flags that a command does not have give their zero.
func storageOptions(c *cli.Command) balsa.StorageOptions {
	return balsa.StorageOptions{
		Workers: c.Int(flagStorageWorkers), LargeLeaves: c.Int(flagStorageLargeLeaves),
		BatchAccounts: c.Int(flagStorageBatchAccounts), BatchLeaves: c.Int(flagStorageBatchLeaves),
	}
}

// buildGCPercent keeps the heap of a build, most of which is row buffers, near what is alive.
const buildGCPercent = 40

// lean runs a command that builds in less memory, for a little more collection, unless GOGC says
// how much it shall be.
func lean(run func(context.Context, *cli.Command, *session) error) func(context.Context,
	*cli.Command, *session) error {
	return func(ctx context.Context, c *cli.Command, s *session) error {
		if os.Getenv("GOGC") == "" {
			defer debug.SetGCPercent(debug.SetGCPercent(buildGCPercent))
		}
		return run(ctx, c, s)
	}
}
