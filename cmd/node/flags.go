package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/balactor"
	"github.com/balsa-sync/balsa/telemetry"
)

// Names of flags that more than one command has.
const (
	flagDataDir      = "datadir"
	flagWorkers      = "workers"
	flagCache        = "cache.mib"
	flagCheckBlocks  = "checkpoint.blocks"
	flagCheckBytes   = "checkpoint.bytes"
	flagHistory      = "history"
	flagApply        = "apply"
	flagJSON         = "json"
	flagLogFormat    = "log.format"
	flagVerbosity    = "verbosity"
	flagOTLPEndpoint = "otlp.endpoint"
)

// env gives a flag's twin in the environment.
func env(flag string) cli.ValueSourceChain {
	name := strings.NewReplacer(".", "_", "-", "_").Replace(flag)
	return cli.EnvVars("BALSA_" + strings.ToUpper(name))
}

// commonFlags are the flags of every command.
func commonFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name: flagLogFormat, Sources: env(flagLogFormat), Value: string(telemetry.FormatTerminal),
			Usage: "format of the log on standard error: terminal, logfmt or json",
		},
		&cli.IntFlag{
			Name: flagVerbosity, Sources: env(flagVerbosity), Value: telemetry.VerbosityInfo,
			Usage: "what is logged: 0 nothing, 1 errors, 2 warnings, 3 info, 4 debug",
		},
		&cli.StringFlag{
			Name: flagOTLPEndpoint, Sources: env(flagOTLPEndpoint),
			DefaultText: "that of OTEL_EXPORTER_OTLP_ENDPOINT, else none",
			Usage: "collector for traces and metrics: host:port for gRPC, or an http(s):// " +
				"URL",
		},
	}, listenerFlags()...)
}

func dataDirFlag() cli.Flag {
	return &cli.StringFlag{
		Name: flagDataDir, Sources: env(flagDataDir), Required: true,
		Usage: "directory of the store (required)", TakesFile: true,
		Validator: func(s string) error {
			if s == "" {
				return fmt.Errorf("--%s is empty", flagDataDir)
			}
			return nil
		},
	}
}

func workersFlag() cli.Flag {
	return &cli.IntFlag{
		Name: flagWorkers, Sources: env(flagWorkers), DefaultText: "0: one a CPU",
		Usage: "workers that share a block's storage tries and account trie",
		Validator: func(n int) error {
			o := balsa.Options{Dir: "x", Workers: n}
			return o.Validate()
		},
	}
}

func cacheFlag() cli.Flag {
	return &cli.IntFlag{
		Name: flagCache, Sources: env(flagCache), Value: 256,
		Usage: "memory for the store's block cache, in MiB",
		Validator: func(n int) error {
			if n < 1 || n > 1<<20 {
				return fmt.Errorf("--%s %d is not between 1 and %d", flagCache, n, 1<<20)
			}
			return nil
		},
	}
}

func checkpointBlocksFlag() cli.Flag {
	return &cli.IntFlag{
		Name: flagCheckBlocks, Sources: env(flagCheckBlocks), DefaultText: "0: 64",
		Usage: "blocks after which their rows go from memory to files; 1: each block waits for it",
		Validator: func(n int) error {
			o := balsa.Options{Dir: "x", CheckpointBlocks: n}
			return o.Validate()
		},
	}
}

func checkpointBytesFlag() cli.Flag {
	return &cli.Int64Flag{
		Name: flagCheckBytes, Sources: env(flagCheckBytes), DefaultText: "0: 128 MiB",
		Usage: "bytes of rows in memory at which they go to files sooner",
		Validator: func(n int64) error {
			o := balsa.Options{Dir: "x", CheckpointBytes: n}
			return o.Validate()
		},
	}
}

func historyFlag() cli.Flag {
	return &cli.IntFlag{
		Name: flagHistory, Sources: env(flagHistory), Value: balsa.DefaultHistory,
		Usage: "blocks below the cursor that can be undone and read; what older ones need is removed; " +
			"-1: nothing is",
		Validator: func(n int) error {
			if n == 0 {
				return fmt.Errorf("--%s 0: want a number of blocks, or -1", flagHistory)
			}
			o := balsa.Options{Dir: "x", History: n}
			return o.Validate()
		},
	}
}

func applyFlag() cli.Flag {
	return &cli.StringFlag{
		Name: flagApply, Sources: env(flagApply), Value: balsa.ApplyBulk.String(),
		Usage: "how access lists become new values: bulk, or journaled to measure against",
		Validator: func(name string) error {
			_, err := balactor.ParseApply(name)
			return err
		},
	}
}

// applyOf is what applyFlag says; bulk for a command without it.
func applyOf(c *cli.Command) balsa.Apply {
	apply, _ := balactor.ParseApply(c.String(flagApply)) // the flag was validated
	return apply
}

func jsonFlag(what string) cli.Flag {
	return &cli.BoolFlag{Name: flagJSON, Sources: env(flagJSON), Usage: what, DefaultText: "false"}
}

// engineOptions are the options of an engine as the flags say. Flags that a command does not have
// give their zero, which is the engine's own default.
func (s *session) engineOptions(c *cli.Command) balsa.Options {
	return balsa.Options{
		Dir: c.String(flagDataDir), Workers: c.Int(flagWorkers), Apply: applyOf(c),
		CacheBytes: int64(c.Int(flagCache)) << 20, Storage: storageOptions(c),
		CheckpointBlocks: c.Int(flagCheckBlocks), CheckpointBytes: c.Int64(flagCheckBytes),
		History: c.Int(flagHistory), Logger: s.log,
		TracerProvider: s.telemetry.TracerProvider(), Monitor: s.monitor,
	}
}
