package balbench

import (
	"math/big"
	"slices"
	"time"

	"github.com/balsa-sync/balsa/internal/measure"
	"github.com/balsa-sync/balsa/messages"
)

func bigInt(n int) *big.Int { return big.NewInt(int64(n)) }

// Times describes the milliseconds of some blocks.
type Times struct {
	Average float64 `json:"average"`
	Median  float64 `json:"median"`
	P90     float64 `json:"p90"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timesOf reduces durations, of which there must be one at least. The p-th percentile is the
// least that p percent of them do not exceed.
func timesOf(all []time.Duration) Times {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	percentile := func(p int) float64 { return millis(sorted[(n*p+99)/100-1]) }
	return Times{
		Average: millis(sum(sorted)) / float64(n), Median: percentile(50), P90: percentile(90),
		P95: percentile(95), P99: percentile(99), Min: millis(sorted[0]), Max: millis(sorted[n-1]),
	}
}

func sum(all []time.Duration) (s time.Duration) {
	for _, d := range all {
		s += d
	}
	return s
}

// Row is what one contestant took.
type Row struct {
	Name      string  `json:"name"`
	Path      string  `json:"path"`
	Blocks    int     `json:"blocks"`
	BlocksS   float64 `json:"blocks_per_s"`
	SlotsS    float64 `json:"slots_per_s"`
	AccountsS float64 `json:"accounts_per_s"`
	MS        Times   `json:"ms"`
	// SettleMS is a block's share of the time until the process was quiet after each segment, CPUMS
	// that of the processor time, settling included.
	SettleMS float64 `json:"settle_ms"`
	CPUMS    float64 `json:"cpu_ms"`
	Phases   []Phase `json:"phases,omitempty"` // in the order of a block's way
	// RoundsMS are the segments' milliseconds a block.
	RoundsMS []float64 `json:"rounds_ms"`
}

// Phase is a part of a block's time.
type Phase struct {
	Name  string  `json:"name"`
	MS    float64 `json:"ms"`    // an average block's
	Share float64 `json:"share"` // of an average block's time as the embedder sees it
}

// Ratio is how many times as long contestants of one path took as those of another.
type Ratio struct {
	Of      string         `json:"of"`
	To      string         `json:"to"`
	Control bool           `json:"control,omitempty"` // both are of one path
	Ratio   measure.Spread `json:"ratio"`             // over the rounds
}

// Result is what a family's blocks took on one state.
type Result struct {
	Family   string  `json:"family"`
	Doc      string  `json:"doc"`
	Creates  bool    `json:"creates"`
	State    Shape   `json:"state"`
	Accounts float64 `json:"accounts_per_block"` // that changed
	Slots    float64 `json:"slots_per_block"`
	Rounds   int     `json:"rounds"`
	Blocks   int     `json:"blocks_per_round"`
	Roots    string  `json:"roots_by"`
	Rows     []Row   `json:"rows"`
	Ratios   []Ratio `json:"ratios"`
}

// Row returns the row of a contestant, nil where there is none.
func (r *Result) Row(name string) *Row {
	i := slices.IndexFunc(r.Rows, func(w Row) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// Ratio returns the ratio of a path to another, nil where there is none.
func (r *Result) Ratio(of, to string) *measure.Spread {
	i := slices.IndexFunc(r.Ratios, func(x Ratio) bool { return x.Of == of && x.To == to })
	if i < 0 {
		return nil
	}
	return &r.Ratios[i].Ratio
}

func (r *run) result() *Result {
	o := &r.b.o
	blocks := float64(o.Rounds * o.Blocks)
	res := &Result{
		Family: r.f.Name, Doc: r.f.Doc, Creates: r.f.Creates, State: r.b.State.Shape,
		Accounts: float64(r.account) / blocks, Slots: float64(r.slot) / blocks,
		Rounds: o.Rounds, Blocks: o.Blocks, Roots: "scout",
	}
	if r.scout == nil {
		res.Roots = Geth
	}
	for i := range r.lanes {
		res.Rows = append(res.Rows, r.lanes[i].row(res))
	}
	res.Ratios = ratios(res.Rows)
	return res
}

func (l *lane) row(res *Result) Row {
	n := float64(len(l.blocks))
	perSecond := n / sum(l.blocks).Seconds()
	row := Row{
		Name: l.c.Name, Path: l.c.Path, Blocks: len(l.blocks), BlocksS: perSecond,
		SlotsS: perSecond * res.Slots, AccountsS: perSecond * res.Accounts, MS: timesOf(l.blocks),
		SettleMS: millis(l.settle) / n, CPUMS: millis(l.cpu) / n,
	}
	for _, d := range l.rounds {
		row.RoundsMS = append(row.RoundsMS, millis(d)/float64(res.Blocks))
	}
	for _, p := range phasesOf(&l.phases) {
		if p.MS /= n; p.MS > 0 {
			p.Share = p.MS / row.MS.Average
			row.Phases = append(row.Phases, p)
		}
	}
	return row
}

// phasesOf lists the parts of Phases in milliseconds, in the order of a block's way.
func phasesOf(p *messages.Phases) []Phase {
	return []Phase{
		{Name: "decode", MS: millis(p.Decode)},
		{Name: "warm-up", MS: millis(p.Warmup)},
		{Name: "apply", MS: millis(p.Apply)},
		{Name: "storage", MS: millis(p.StorageRoots)},
		{Name: "accounts", MS: millis(p.AccountRoot)},
		{Name: "commit", MS: millis(p.Commit)},
	}
}

func addPhases(to, p *messages.Phases) {
	to.Decode += p.Decode
	to.Warmup += p.Warmup
	to.Apply += p.Apply
	to.StorageRoots += p.StorageRoots
	to.AccountRoot += p.AccountRoot
	to.Commit += p.Commit
	to.Total += p.Total
}

// ratios compares each path with the first of Balsa's, all contestants of a path taken together,
// and each contestant with the first of its path.
func ratios(rows []Row) (all []Ratio) {
	rounds, order := map[string][]float64{}, []string(nil)
	first := map[string]*Row{}
	for i := range rows {
		w := &rows[i]
		if one := first[w.Path]; one != nil {
			all = append(all, Ratio{Of: w.Name, To: one.Name, Control: true,
				Ratio: measure.Ratio(w.RoundsMS, one.RoundsMS)})
		} else {
			first[w.Path] = w
			order = append(order, w.Path)
		}
		if rounds[w.Path] == nil {
			rounds[w.Path] = make([]float64, len(w.RoundsMS))
		}
		for j, ms := range w.RoundsMS {
			rounds[w.Path][j] += ms
		}
	}
	count := map[string]float64{}
	for i := range rows {
		count[rows[i].Path]++
	}
	for path, sums := range rounds {
		for j := range sums {
			sums[j] /= count[path]
		}
	}
	base := slices.IndexFunc(order, func(p string) bool { return p != Geth })
	if base < 0 {
		return all
	}
	var against []Ratio
	for _, p := range order {
		if p != order[base] {
			against = append(against, Ratio{Of: p, To: order[base],
				Ratio: measure.Ratio(rounds[p], rounds[order[base]])})
		}
	}
	return append(against, all...)
}
