package storagebench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/mainnetshape"
	"github.com/balsa-sync/balsa/internal/measure"
)

// Options say how builds are run. Their Dir is the folder in which stores are made.
type Options struct {
	CacheBytes int64
	Storage    balsa.StorageOptions // but for what a sweep sweeps
	Rounds     int                  // of what takes turns
	Logger     *slog.Logger
}

// State says what was built.
type State struct {
	Accounts        uint64      `json:"accounts"`
	StorageAccounts uint64      `json:"storage_accounts"`
	Slots           uint64      `json:"slots"`
	Root            common.Hash `json:"root"`
}

// Build is one build of all tries.
type Build struct {
	// Seconds is from the call to its return: the store's opening and closing are in it.
	Seconds     float64             `json:"wall_s"`
	CPUSeconds  float64             `json:"cpu_s"` // of the process meanwhile
	Storage     balsa.StorageReport `json:"storage"`
	AccountTrie balsa.StorageReport `json:"account_trie"`
}

// Store is a store with a generated state.
type Store struct {
	dir   string
	o     Options
	State State
	// Import is how the state was built when it was loaded; nil where it was there.
	Import *Build
}

// NewStore makes a state of the shape in a store in dir, or takes the store that has this state.
func NewStore(ctx context.Context, dir string, shape mainnetshape.Shape, o Options) (
	*Store, error) {
	s, err := mainnetshape.New(shape)
	if err != nil {
		return nil, err
	}
	o.Logger.Info("computing the root of the state", "accounts", s.Accounts(),
		"with_storage", s.StorageAccounts(), "slots", s.Slots())
	root, err := s.Root(ctx)
	if err != nil {
		return nil, fmt.Errorf("storagebench: root: %w", err)
	}
	st := &Store{dir: dir, o: o, State: State{
		Accounts: s.Accounts(), StorageAccounts: s.StorageAccounts(), Slots: s.Slots(), Root: root,
	}}
	o.Logger.Info("loading it", "dir", dir)
	cpu, start := measure.CPUTime(), time.Now()
	res, err := balsa.Import(ctx, st.options(o.Storage), s.Source(mainnetshape.Header(root)),
		balsa.ImportOptions{})
	if errors.Is(err, balsa.ErrInitialised) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	st.Import = &Build{
		Seconds: time.Since(start).Seconds(), CPUSeconds: (measure.CPUTime() - cpu).Seconds(),
		Storage: res.Storage, AccountTrie: res.AccountTrie,
	}
	return st, nil
}

func (s *Store) options(storage balsa.StorageOptions) balsa.Options {
	return balsa.Options{Dir: s.dir, CacheBytes: s.o.CacheBytes, Storage: storage,
		Logger: slog.New(slog.DiscardHandler)}
}

// Rebuild builds all tries again.
func (s *Store) Rebuild(ctx context.Context, storage balsa.StorageOptions) (Build, error) {
	measure.Settle()
	cpu, start := measure.CPUTime(), time.Now()
	res, err := balsa.Rebuild(ctx, s.options(storage), balsa.RebuildOptions{})
	b := Build{
		Seconds: time.Since(start).Seconds(), CPUSeconds: (measure.CPUTime() - cpu).Seconds(),
		Storage: res.Storage, AccountTrie: res.AccountTrie,
	}
	if err != nil {
		return b, err
	}
	if res.Cursor.Root != s.State.Root {
		return b, fmt.Errorf("storagebench: root %v, want %v", res.Cursor.Root, s.State.Root)
	}
	return b, nil
}

// alternate rebuilds with each of some options in turn, for the rounds, and gives the builds of
// each, in the order of the rounds.
func (s *Store) alternate(ctx context.Context, names []string, all []balsa.StorageOptions) (
	[][]Build, error) {
	builds := make([][]Build, len(all))
	sides := make([]measure.Side, len(all))
	for i := range all {
		sides[i] = measure.Side{Name: names[i], Run: func(ctx context.Context) (
			measure.Sample, error) {
			s.o.Logger.Info("building", "with", names[i], "round", len(builds[i])+1)
			b, err := s.Rebuild(ctx, all[i])
			builds[i] = append(builds[i], b)
			return measure.Sample{}, err
		}}
	}
	_, err := measure.Alternate(ctx, s.o.Rounds, sides...)
	return builds, err
}

// of reduces one figure of some builds.
func of(builds []Build, f func(*Build) float64) measure.Spread {
	return measure.Of(values(builds, f))
}

func values(builds []Build, f func(*Build) float64) []float64 {
	v := make([]float64, len(builds))
	for i := range builds {
		v[i] = f(&builds[i])
	}
	return v
}

func storageWall(b *Build) float64 { return b.Storage.WallS }

// storageCPU is the process's processor time during the storage phase.
func storageCPU(b *Build) float64 {
	return b.Storage.Process.UserCPUS + b.Storage.Process.SystemCPUS
}
