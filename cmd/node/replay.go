package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/blockfile"
	"github.com/balsa-sync/balsa/state"
)

const (
	flagTo     = "to"
	flagNoSync = "nosync"
)

const (
	// interruptGrace is how long the block in flight may go on behind an interrupt; then it is given
	// up.
	interruptGrace = 2 * time.Second
	// closeTimeout bounds the orderly stop of the engine.
	closeTimeout = 10 * time.Second
	// readAhead is how many blocks are read and decoded while one is applied.
	readAhead = 2
)

var errOtherBranch = errors.New("the block is on another branch than the store's")

func (a *app) replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "apply blocks from files, each proven against its state root",
		UsageText: "balsa replay --datadir DIR FILE|DIR|- ...",
		Description: "A file holds engine_newPayload requests, bare payloads, or lines " +
			`{"header", "blockAccessList"}: one, an array, or one after the other, with gzip or ` +
			"without. Blocks that the store holds are passed over, so that a replay that was " +
			"stopped goes on where it was. It ends at the first block that fails.\n\n" +
			"A root that comes out right shows that access list and header agree. It does not " +
			"show that the block's transactions produce that list: only executing them does.",
		Flags: append(replayFlags(),
			&cli.BoolFlag{
				Name: flagShadow, Sources: env(flagShadow), DefaultText: "false",
				Usage: "compute roots a second way beside the blocks, and count what differs",
			},
			shadowEveryFlag(flagShadowEvery),
		),
		Action: a.action(1, anyNumber, replay),
	}
}

// replayFlags are the flags of all commands that apply blocks from files.
func replayFlags() []cli.Flag {
	return []cli.Flag{
		dataDirFlag(),
		&cli.Uint64Flag{
			Name: flagTo, Sources: env(flagTo), DefaultText: "0: the last one",
			Usage: "number of the last block to apply",
		},
		&cli.BoolFlag{
			Name: flagNoSync, Sources: env(flagNoSync), DefaultText: "false",
			Usage: "do not wait for the disk at each block: faster, and a crash of the machine " +
				"may cost the last blocks",
		},
		applyFlag(),
		workersFlag(),
		cacheFlag(),
		checkpointBlocksFlag(), checkpointBytesFlag(), historyFlag(),
		jsonFlag("print the summary as JSON"),
	}
}

// replaySummary is what a replay did.
type replaySummary struct {
	Applied  int           // blocks, each with a proven root
	Known    int           // blocks passed over, because the store holds them
	Older    int           // blocks passed over below the store's first
	Accounts int           // that the applied blocks changed
	Slots    int           // that the applied blocks changed
	Took     time.Duration // opening and closing the store not counted
	Cursor   state.Cursor
	Shadow   balsa.ShadowStats
}

func replay(ctx context.Context, c *cli.Command, s *session) error {
	o := s.engineOptions(c)
	o.Shadow = balsa.ShadowOptions{
		Enabled: c.Bool(flagShadow), Every: c.Uint64(flagShadowEvery), Faults: s.app.faults,
	}
	sum, err := s.replayFiles(ctx, c, o, replayHooks{})
	if sum == nil {
		return err
	}
	return errors.Join(err, s.printReplay(*sum, c.Bool(flagJSON), err))
}

// replayHooks are called with the engine. What is nil is not called.
type replayHooks struct {
	before func(context.Context, *balsa.Engine) error // each block that is applied
	after  func(context.Context, *balsa.Engine) error // the last one, also where one failed
}

// replayFiles applies the blocks of the command's files. Where it could not begin there is no
// summary.
func (s *session) replayFiles(ctx context.Context, c *cli.Command, o balsa.Options,
	hooks replayHooks) (*replaySummary, error) {
	files, err := blockfile.Open(blockfile.Options{Paths: c.Args().Slice(), Stdin: s.app.stdin})
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o.NoSync = c.Bool(flagNoSync)
	o.OnFatal = func(err error) { fail(err) }
	e, err := balsa.Open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	last := c.Uint64(flagTo)
	if last == 0 {
		last = ^uint64(0)
	}
	r := &replayRun{
		engine: e, files: files, last: last, log: s.log, meter: newMeter(files.Progress),
		before: hooks.before,
	}
	show := s.newDisplay(r.meter)
	err = r.run(ctx, show)
	show.finish()
	if hooks.after != nil {
		err = errors.Join(err, hooks.after(ctx, e))
	}
	sum := r.summary()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err = errors.Join(err, e.Close(closing))
	sum.Shadow = e.ShadowStats()
	return &sum, err
}

// replayRun is a replay under way.
type replayRun struct {
	engine *balsa.Engine
	files  *blockfile.Reader
	last   uint64 // number of the last block to apply
	log    *slog.Logger
	meter  *meter
	before func(context.Context, *balsa.Engine) error // see replayHooks

	sum replaySummary
}

// readBlock is a block out of the files, or why there is none.
type readBlock struct {
	entry *blockfile.Entry
	block blockfile.Block
	err   error
}

// feed reads the files up to their end, an error, or the end of ctx, and closes them.
func (r *replayRun) feed(ctx context.Context, to chan<- readBlock) {
	defer close(to)
	defer r.files.Close() // only read
	for {
		var b readBlock
		b.entry, b.err = r.files.Next()
		if b.err == nil && b.entry.HasAccessList() {
			b.block, b.err = b.entry.Block()
		}
		if b.entry == nil && errors.Is(b.err, io.EOF) {
			return
		}
		select {
		case to <- b:
		case <-ctx.Done():
			return
		}
		if b.err != nil {
			return
		}
	}
}

func (r *replayRun) run(ctx context.Context, show display) error {
	blocks := make(chan readBlock, readAhead)
	feeding, stop := context.WithCancel(ctx)
	go r.feed(feeding, blocks)
	defer func() {
		stop() // not waited for: a read from a pipe may take for ever
		r.sum.Took = r.meter.elapsed()
	}()
	applying, cancel := withGrace(ctx, interruptGrace)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return r.stopped(ctx)
		case b, ok := <-blocks:
			if !ok {
				return r.stopped(ctx)
			}
			if b.entry != nil && b.entry.Number > r.last {
				return nil
			}
			if b.err != nil {
				return b.err
			}
			if err := r.take(applying, b); err != nil {
				if ctx.Err() != nil && errors.Is(err, context.Canceled) {
					return r.stopped(ctx)
				}
				return fmt.Errorf("%s: %w", b.entry.At, err)
			}
			show.update()
		}
	}
}

// stopped says why there is nothing more to apply: the end of the files, an interrupt, or a
// failure of the engine.
func (r *replayRun) stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return fmt.Errorf("%w at block %d; run the same command again to go on", errInterrupted,
		r.engine.Cursor().Number)
}

// withGrace gives a context that ends some time after its parent.
func withGrace(parent context.Context, grace time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(grace, cancel) })
	return ctx, func() { stop(); cancel() }
}

// take applies a block, or passes it over.
func (r *replayRun) take(ctx context.Context, b readBlock) error {
	cursor := r.engine.Cursor()
	if b.entry.Number <= cursor.Number {
		return r.passOver(b, cursor)
	}
	if !b.entry.HasAccessList() {
		return fmt.Errorf("%s %w", b.entry, blockfile.ErrPreAmsterdam)
	}
	if r.before != nil {
		if err := r.before(ctx, r.engine); err != nil {
			return err
		}
	}
	done, err := r.apply(ctx, b.block)
	if err != nil {
		return err
	}
	r.sum.Applied++
	r.sum.Accounts += done.Accounts
	r.sum.Slots += done.Slots
	r.meter.applied(done.Number, done.Slots)
	r.log.Debug("block applied", "number", done.Number, "hash", done.Hash,
		"accounts", done.Accounts, "slots", done.Slots, "took", done.Phases.Total)
	return nil
}

func (r *replayRun) apply(ctx context.Context, b blockfile.Block) (balsa.Applied, error) {
	return r.engine.Apply(ctx, balsa.Block{
		Header: b.Header, BAL: b.BAL, Transactions: b.Transactions,
	})
}

// passOver takes a block at or below the cursor: one that the store holds, or one from before the
// store's first block, of which the store knows nothing. Anything else is on another branch.
func (r *replayRun) passOver(b readBlock, cursor state.Cursor) error {
	held, ok, err := r.engine.BlockHash(b.entry.Number)
	switch {
	case err != nil:
		return err
	case !ok:
		r.sum.Older++
	case held == b.entry.Hash:
		r.sum.Known++
	default:
		return fmt.Errorf("%s: %w, which has %s there and is at block %d (%s)", b.entry,
			errOtherBranch, held, cursor.Number, cursor.Hash)
	}
	r.meter.passed()
	r.log.Debug("block passed over", "number", b.entry.Number, "hash", b.entry.Hash)
	return nil
}

func (r *replayRun) summary() replaySummary {
	r.sum.Cursor = r.engine.Cursor()
	return r.sum
}

// printReplay prints what was done, also where it ended with an error.
func (s *session) printReplay(sum replaySummary, asJSON bool, failed error) error {
	perSecond := func(n int) float64 {
		if sum.Took <= 0 {
			return 0
		}
		return float64(n) / sum.Took.Seconds()
	}
	if asJSON {
		out := struct {
			Applied     int        `json:"blocksApplied"`
			Proven      int        `json:"rootsProven"`
			Known       int        `json:"blocksKnown"`
			Older       int        `json:"blocksOlder"`
			Accounts    int        `json:"accountsChanged"`
			Slots       int        `json:"slotsChanged"`
			Seconds     float64    `json:"seconds"`
			BlocksASec  float64    `json:"blocksPerSecond"`
			SlotsPerSec float64    `json:"slotsPerSecond"`
			Cursor      cursorJSON `json:"cursor"`
			Shadow      shadowJSON `json:"shadow"`
			Error       string     `json:"error,omitempty"`
		}{sum.Applied, sum.Applied, sum.Known, sum.Older, sum.Accounts, sum.Slots,
			sum.Took.Seconds(), perSecond(sum.Applied), perSecond(sum.Slots),
			jsonCursor(sum.Cursor), jsonShadow(sum.Shadow), ""}
		if failed != nil {
			out.Error = failed.Error()
		}
		return s.printJSON(out)
	}
	if sum.Known > 0 {
		s.printf("%d blocks passed over: the store holds them\n", sum.Known)
	}
	if sum.Older > 0 {
		s.printf("%d blocks passed over: they lie below the blocks that the store holds\n", sum.Older)
	}
	s.printf("%d blocks applied, %d roots proven in %s (%.1f blocks/s, %.0f slots/s), cursor %s\n",
		sum.Applied, sum.Applied, sum.Took.Round(time.Millisecond), perSecond(sum.Applied),
		perSecond(sum.Slots), formatCursor(sum.Cursor))
	if sum.Shadow.Skipped.Off < sum.Shadow.Requests {
		s.printf("shadow: %s\n", shadowLine(sum.Shadow))
	}
	return nil
}

func formatCursor(c state.Cursor) string {
	return fmt.Sprintf("%d %s root %s", c.Number, c.Hash, c.Root)
}
