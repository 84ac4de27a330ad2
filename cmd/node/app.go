package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/telemetry"
)

// app is the command line, with the streams that it reads and writes.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	faults balsa.ShadowFaults // planted by tests

	acted bool // a command's own code was reached: its errors are not about usage
}

// session is what every command has at hand.
type session struct {
	app       *app
	log       *slog.Logger
	telemetry *telemetry.Providers
	monitor   *telemetry.Monitor
	command   string   // its name
	ends      []func() // see listen
}

// run runs the command of args, whose first element is the program's name, and returns the exit
// code. What went wrong was said on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	a.acted = false
	err := a.command().Run(ctx, args)
	if err != nil && !a.acted {
		err = &usageError{err}
	}
	code := exitCode(err)
	if err != nil {
		fmt.Fprintf(a.stderr, "balsa: %s\n", describe(err))
	}
	return code
}

func (a *app) command() *cli.Command {
	root := &cli.Command{
		Name:      "balsa",
		Usage:     "keep an Ethereum state from block access lists, each block proven",
		UsageText: "balsa COMMAND [options] [arguments]",
		Commands: []*cli.Command{
			a.initCommand(), a.importCommand(), a.exportCommand(), a.rebuildCommand(),
			a.replayCommand(), a.soakCommand(), a.verifyCommand(), a.statusCommand(),
			a.fixturesCommand(), a.benchCommand(), a.versionCommand(),
		},
		Description: "Exit codes: 0 done, 1 failed or interrupted, 2 bad usage, " +
			"3 verification failed, 4 store unusable.",
		Action: func(_ context.Context, c *cli.Command) error {
			if name := c.Args().First(); name != "" {
				return fmt.Errorf("unknown command %q", name)
			}
			return errors.New("which command?")
		},
		HideVersion: true,
	}
	a.prepare(root)
	for _, c := range root.Commands {
		for _, sub := range c.Commands {
			sub.Flags = append(sub.Flags, commonFlags()...)
			a.prepare(sub)
		}
		if len(c.Commands) == 0 {
			c.Flags = append(c.Flags, commonFlags()...)
		}
		a.prepare(c)
	}
	return root
}

// prepare turns off what the library would write or exit with by itself: errors come out of Run.
func (a *app) prepare(c *cli.Command) {
	c.HideHelpCommand = true
	c.Reader, c.Writer, c.ErrWriter = a.stdin, a.stdout, a.stderr
	c.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		return fmt.Errorf("%w (see %s --help)", err, c.FullName())
	}
}

// commandFunc is what a command does.
type commandFunc func(ctx context.Context, c *cli.Command, s *session) error

// anyNumber of arguments.
const anyNumber = -1

// action runs f with a session, if the command has between minArgs and maxArgs arguments.
func (a *app) action(minArgs, maxArgs int, f commandFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) (err error) {
		if n := c.Args().Len(); n < minArgs || maxArgs != anyNumber && n > maxArgs {
			return fmt.Errorf("%s takes %s, not %d (see %s --help)", c.Name,
				argumentCount(minArgs, maxArgs), n, c.FullName())
		}
		s, err := a.newSession(ctx, c)
		if err != nil {
			return err // of the log and telemetry flags
		}
		a.acted = true
		defer func() {
			s.quiet()
			// Not ctx, which an interrupt ends: what is queued is worth the moment it takes.
			if terr := s.telemetry.Shutdown(context.WithoutCancel(ctx)); terr != nil {
				s.log.Warn("the last spans were lost", "err", terr)
			}
		}()
		if err = f(ctx, c, s); ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = fmt.Errorf("%w: %w", errInterrupted, err)
		}
		return err
	}
}

func argumentCount(least, most int) string {
	switch {
	case most == 0:
		return "no arguments"
	case most == anyNumber:
		return fmt.Sprintf("at least %d argument(s)", least)
	case least == most:
		return fmt.Sprintf("%d argument(s)", least)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

func (a *app) newSession(ctx context.Context, c *cli.Command) (*session, error) {
	log, err := telemetry.NewLogger(telemetry.LogOptions{
		Format:    telemetry.Format(c.String(flagLogFormat)),
		Verbosity: c.Int(flagVerbosity),
		Writer:    a.stderr,
	})
	if err != nil {
		return nil, err
	}
	p, err := telemetry.Setup(ctx, telemetry.Options{
		Version: buildVersion(), OTLPEndpoint: c.String(flagOTLPEndpoint), Logger: log,
		Prometheus: c.String(flagMetricsAddr) != "",
	})
	if err != nil {
		return nil, err
	}
	s := &session{app: a, log: log, telemetry: p, command: c.Name}
	if s.monitor, err = telemetry.NewMonitor(p.MeterProvider()); err == nil {
		s.monitor.Exports(p.Stats)
		err = s.listen(c)
	}
	if err != nil {
		s.quiet()
		return nil, errors.Join(err, p.Shutdown(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// printJSON writes v as one indented object.
func (s *session) printJSON(v any) error {
	enc := json.NewEncoder(s.app.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (s *session) printf(format string, args ...any) {
	// A reader that closes its end early is no failure of the command.
	_, _ = fmt.Fprintf(s.app.stdout, format, args...)
}
