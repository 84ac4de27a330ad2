package storagebench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/balsa-sync/balsa"
	"github.com/balsa-sync/balsa/internal/measure"
)

// ErrBadSweep: a sweep that cannot be run.
var ErrBadSweep = errors.New("storagebench: bad sweep")

// swept are the options that a sweep can be over, by name.
var swept = map[string]struct {
	axis string
	set  func(o *balsa.StorageOptions, n int)
}{
	"batch": {"accounts a batch", func(o *balsa.StorageOptions, n int) { o.BatchAccounts = n }},
	"workers": {"workers", func(o *balsa.StorageOptions, n int) {
		o.Workers, o.Flushers, o.Buffers = n, 0, 0 // the latter two follow
	}},
}

// SweepSpec is an option with the values to build with.
type SweepSpec struct {
	Name   string // "batch", "workers"
	Values []int
}

// ParseSweeps reads sweeps: "batch=1,16,64", and several of them in one text or in more.
func ParseSweeps(texts []string) ([]SweepSpec, error) {
	var specs []SweepSpec
	for word := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		name, value, begins := strings.Cut(word, "=")
		if begins {
			specs = append(specs, SweepSpec{Name: strings.TrimSpace(name)})
		} else {
			value = word
		}
		if len(specs) == 0 {
			return nil, fmt.Errorf("%w: %q: want NAME=VALUE,VALUE", ErrBadSweep, word)
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: %q is no number above 0", ErrBadSweep, value)
		}
		s := &specs[len(specs)-1]
		s.Values = append(s.Values, n)
	}
	for _, s := range specs {
		if _, ok := swept[s.Name]; !ok {
			return nil, fmt.Errorf("%w: %q: want batch or workers", ErrBadSweep, s.Name)
		}
		for _, n := range s.Values {
			var o balsa.StorageOptions
			swept[s.Name].set(&o, n)
			if err := o.Validate(); err != nil {
				return nil, fmt.Errorf("%w: %s=%d: %w", ErrBadSweep, s.Name, n, err)
			}
		}
	}
	return specs, nil
}

// Sweep is what builds with one option at several values took.
type Sweep struct {
	Name   string  `json:"name"`
	Axis   string  `json:"axis"` // what the values are
	Rounds int     `json:"rounds"`
	Points []Point `json:"points"`
}

// Point is one value of a sweep. Spreads are over the rounds.
type Point struct {
	Value           int            `json:"value"`
	WallS           measure.Spread `json:"wall_s"` // of storage and account trie
	StorageWallS    measure.Spread `json:"storage_wall_s"`
	Utilization     measure.Spread `json:"utilization"` // of the storage phase
	DispatcherWaitS measure.Spread `json:"dispatcher_wait_s"`
	// DispatcherWait is the dispatcher's wait over the storage phase's wall time.
	DispatcherWait measure.Spread `json:"dispatcher_wait_of_wall"`
	TurnoverP99US  measure.Spread `json:"slot_turnover_p99_us"`
	Builds         []Build        `json:"builds"`
}

// Sweep runs a sweep over the store.
func (s *Store) Sweep(ctx context.Context, spec SweepSpec) (*Sweep, error) {
	names := make([]string, len(spec.Values))
	all := make([]balsa.StorageOptions, len(spec.Values))
	for i, n := range spec.Values {
		names[i] = fmt.Sprintf("%s=%d", spec.Name, n)
		all[i] = s.o.Storage
		swept[spec.Name].set(&all[i], n)
	}
	builds, err := s.alternate(ctx, names, all)
	if err != nil {
		return nil, err
	}
	sw := &Sweep{Name: spec.Name, Axis: swept[spec.Name].axis, Rounds: s.o.Rounds}
	for i, n := range spec.Values {
		sw.Points = append(sw.Points, newPoint(n, builds[i]))
	}
	return sw, nil
}

func newPoint(n int, builds []Build) Point {
	return Point{
		Value: n, Builds: builds,
		WallS: of(builds, func(b *Build) float64 {
			return b.Storage.WallS + b.AccountTrie.WallS
		}),
		StorageWallS:    of(builds, storageWall),
		Utilization:     of(builds, func(b *Build) float64 { return b.Storage.Utilization }),
		DispatcherWaitS: of(builds, func(b *Build) float64 { return b.Storage.DispatcherWaitS }),
		DispatcherWait: of(builds, func(b *Build) float64 {
			return b.Storage.DispatcherWaitS / max(b.Storage.WallS, 1e-9)
		}),
		TurnoverP99US: of(builds, func(b *Build) float64 { return b.Storage.SlotTurnover.P99US }),
	}
}
