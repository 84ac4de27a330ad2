package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/storagebench"
)

const (
	flagScale  = "scale"
	flagScales = "scales"
	flagSweep  = "sweep"
	flagTail   = "tail"
	flagKeep   = "keep"
	flagOut    = "out"
)

func (a *app) benchStorageCommand() *cli.Command {
	return &cli.Command{
		Name:  "storage",
		Usage: "build all tries of a state that is shaped like mainnet's",
		UsageText: "balsa bench storage --scale 1/1000 [--sweep batch=1,16,64] [--sweep workers=1,2]\n" +
			"                    [--scales 1/10000,1/1000,1/100] [--out DIR] [--json]",
		Description: "Makes the state, loads it as balsa import does, builds all tries again as balsa " +
			"rebuild does, and prints the report of both. Builds with other options take turns. The " +
			"tail is the accounts with storage of fewer than 1,000 slots, alone in a store, at 1/1000 " +
			"at most.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{
				Name: flagScale, Sources: env(flagScale), Value: "1/1000", Validator: validScale,
				Usage: "size of the state, mainnet being 1",
			},
			&cli.StringFlag{
				Name: flagScales, Sources: env(flagScales), DefaultText: "none",
				Usage: "sizes at which the cost of a leaf is measured, separated by commas",
			},
			&cli.StringSliceFlag{
				Name: flagSweep, Sources: env(flagSweep), DefaultText: "none",
				Usage: "options to build with in turn: batch=1,16,64 or workers=1,2,4",
			},
			&cli.BoolFlag{
				Name: flagTail, Sources: env(flagTail), Value: true, DefaultText: "true",
				Usage: "compare batches of 64 accounts with ones of one on the small accounts",
			},
			positiveFlag(flagRounds, 3, "rounds that medians are taken of"),
			&cli.StringFlag{
				Name: flagDataDir, Sources: env(flagDataDir), TakesFile: true,
				Usage:       "the store: a folder that is not there yet, or one kept earlier",
				DefaultText: "a temporary folder",
			},
			&cli.BoolFlag{
				Name: flagKeep, Sources: env(flagKeep), Usage: "keep the store", DefaultText: "false",
			},
			&cli.StringFlag{
				Name: flagOut, Sources: env(flagOut), TakesFile: true,
				Usage: "folder for the plots, as SVG", DefaultText: "none are drawn",
			},
			cacheFlag(), jsonFlag("print the report as JSON"),
		}, storageFlags()...),
		Action: a.action(0, 0, lean(benchStorage)),
	}
}

func validScale(text string) error {
	_, err := mainnetshape.ParseScale(text)
	return err
}

// storageBench is one run of the benchmark, and its output as JSON.
type storageBench struct {
	Scale   string                `json:"scale"`
	State   storagebench.State    `json:"state"`
	Import  *storagebench.Build   `json:"import,omitempty"`
	Rebuild storagebench.Build    `json:"rebuild"`
	Sweeps  []*storagebench.Sweep `json:"sweeps,omitempty"`
	Tail    *storagebench.Tail    `json:"tail,omitempty"`
	Growth  *storagebench.Growth  `json:"growth,omitempty"`
	Plots   []string              `json:"plots,omitempty"`

	o      storagebench.Options
	scale  float64
	scales []float64
	sweeps []storagebench.SweepSpec
	tail   bool
	out    string
	dir    string // the store
	keep   bool
	temp   string // for what is removed at the end
}

// maxTailScale bounds the tail: without batches it takes some 30 times as long as with them.
const maxTailScale = 1. / 1000

func benchStorage(ctx context.Context, c *cli.Command, s *session) (err error) {
	b, err := s.newStorageBench(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.clean()) }()
	if err := b.run(ctx); err != nil {
		return err
	}
	if c.Bool(flagJSON) {
		return s.printJSON(b)
	}
	return b.print(s)
}

// newStorageBench reads the flags, and makes the folders.
func (s *session) newStorageBench(c *cli.Command) (*storageBench, error) {
	b := &storageBench{
		Scale: c.String(flagScale), tail: c.Bool(flagTail), out: c.String(flagOut),
		dir: c.String(flagDataDir), keep: c.Bool(flagKeep),
		o: storagebench.Options{
			CacheBytes: int64(c.Int(flagCache)) << 20, Storage: storageOptions(c),
			Rounds: c.Int(flagRounds), Logger: s.log,
		},
	}
	var err error
	if b.scale, err = mainnetshape.ParseScale(b.Scale); err != nil {
		return nil, &usageError{err}
	}
	if text := c.String(flagScales); text != "" {
		for word := range strings.SplitSeq(text, ",") {
			scale, err := mainnetshape.ParseScale(word)
			if err != nil {
				return nil, &usageError{err}
			}
			b.scales = append(b.scales, scale)
		}
	}
	if texts := c.StringSlice(flagSweep); len(texts) > 0 {
		if b.sweeps, err = storagebench.ParseSweeps(texts); err != nil {
			return nil, &usageError{err}
		}
	}
	if b.out != "" {
		if err := os.MkdirAll(b.out, 0o755); err != nil {
			return nil, err
		}
	}
	return b, b.makeFolders(s)
}

// makeFolders finds a place for the stores. A store that was there is kept whatever the flags say.
func (b *storageBench) makeFolders(s *session) (err error) {
	parent := ""
	if b.dir != "" {
		if _, err := os.Stat(b.dir); err == nil {
			b.keep = true
		}
		parent = filepath.Dir(filepath.Clean(b.dir))
	}
	if b.temp, err = os.MkdirTemp(parent, "balsa-bench-"); err != nil {
		return err
	}
	if b.dir == "" {
		b.dir = filepath.Join(b.temp, "store")
		if b.keep {
			s.log.Info("the store is kept", "dir", b.dir)
		}
	}
	return nil
}

// clean removes what is not kept.
func (b *storageBench) clean() error {
	if b.keep && filepath.Dir(b.dir) == b.temp {
		return nil
	}
	err := os.RemoveAll(b.temp)
	if !b.keep {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

func (b *storageBench) run(ctx context.Context) error {
	shape, err := mainnetshape.Mainnet(b.scale)
	if err != nil {
		return err
	}
	st, err := storagebench.NewStore(ctx, b.dir, shape, b.o)
	if err != nil {
		return err
	}
	b.State, b.Import = st.State, st.Import
	if b.Rebuild, err = st.Rebuild(ctx, b.o.Storage); err != nil {
		return err
	}
	for _, spec := range b.sweeps {
		sw, err := st.Sweep(ctx, spec)
		if err != nil {
			return err
		}
		b.Sweeps = append(b.Sweeps, sw)
		if err := b.draw(sw.Draw); err != nil {
			return err
		}
	}
	if b.tail {
		dir := filepath.Join(b.temp, "tail")
		few, err := mainnetshape.Mainnet(min(b.scale, maxTailScale))
		if err != nil {
			return err
		}
		if b.Tail, err = storagebench.MeasureTail(ctx, dir, few, b.o); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return b.grow(ctx, st)
}

// grow measures the cost of a leaf at the scales.
func (b *storageBench) grow(ctx context.Context, st *storagebench.Store) error {
	if len(b.scales) == 0 {
		return nil
	}
	b.Growth = &storagebench.Growth{}
	for _, scale := range b.scales {
		if scale == b.scale {
			if err := b.Growth.Measure(ctx, st, scale); err != nil {
				return err
			}
			continue
		}
		dir := filepath.Join(b.temp, "scale")
		if err := b.Growth.MeasureScale(ctx, dir, scale, b.o); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := b.Growth.Extrapolate(); err != nil {
		return err
	}
	return b.draw(b.Growth.Draw)
}

func (b *storageBench) draw(draw func(dir string) ([]string, error)) error {
	if b.out == "" {
		return nil
	}
	files, err := draw(b.out)
	b.Plots = append(b.Plots, files...)
	return err
}

// print writes the report for people.
func (b *storageBench) print(s *session) error {
	s.printf("a state of mainnet's shape at %s: %d accounts, %d of them with %d slots\nroot %s\n",
		b.Scale, b.State.Accounts, b.State.StorageAccounts, b.State.Slots, b.State.Root)
	if b.Import != nil {
		s.printf("\nloaded and built in %.2f s, %.2f s of processor time\n", b.Import.Seconds,
			b.Import.CPUSeconds)
		if err := s.printBuildReports(&b.Import.Storage, &b.Import.AccountTrie); err != nil {
			return err
		}
	}
	s.printf("\nbuilt again in %.2f s, %.2f s of processor time\n", b.Rebuild.Seconds,
		b.Rebuild.CPUSeconds)
	if err := s.printBuildReports(&b.Rebuild.Storage, &b.Rebuild.AccountTrie); err != nil {
		return err
	}
	w := s.app.stdout
	for _, sw := range b.Sweeps {
		if err := sw.WriteTable(w); err != nil {
			return err
		}
	}
	if b.Tail != nil {
		if err := b.Tail.WriteTable(w); err != nil {
			return err
		}
	}
	if b.Growth != nil {
		if err := b.Growth.WriteTable(w); err != nil {
			return err
		}
	}
	for _, file := range b.Plots {
		s.printf("plot %s\n", file)
	}
	return nil
}
