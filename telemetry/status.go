package telemetry

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/balsa-sync/balsa/actors"
	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// Job is a worker's job, for its timeline. Times are in seconds but for At.
type Job struct {
	At    time.Time `json:"at"`   // when it began
	Took  float64   `json:"took"` // busy
	Wait  float64   `json:"wait"` // without a job before it, though there was none to have
	Turn  float64   `json:"turnover"`
	Kind  string    `json:"kind"`
	Items int       `json:"items"` // accounts
}

type slotKey struct {
	kind string
	slot int
}

// Slot shows a worker's jobs: kind and number name it, as in "trie-build", 3. The returned function
// is called by the worker after each job; it keeps the last of them.
func (m *Monitor) Slot(kind string, number int) func(Job) {
	if m == nil {
		return func(Job) {}
	}
	key := slotKey{kind, number}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.slots[key]
	if r == nil {
		r = newRing[Job](keptJobs)
		m.slots[key] = r
	}
	return func(j Job) {
		if m.Measuring() {
			r.add(&j)
		}
	}
}

// Status is everything that the status page shows.
type Status struct {
	Now       time.Time             `json:"now"`
	Seconds   float64               `json:"seconds"` // since the process began
	Measuring bool                  `json:"measuring"`
	Progress  *Progress             `json:"progress"`
	Actors    []ActorStatus         `json:"actors"`
	System    SystemStatus          `json:"system"`
	Slots     []SlotStatus          `json:"slots"`
	Blocks    []BlockRecord         `json:"blocks"` // the last ones, the newest last
	Storage   *messages.BuildReport `json:"storage"`
	Accounts  *messages.BuildReport `json:"accountTrie"`
	Store     *state.Metrics        `json:"store"`
	Shadow    *ShadowCounts         `json:"shadow"`
	Verdict   string                `json:"shadowVerdict"`
	Memory    uint64                `json:"heapBytes"`
}

// ActorStatus is an actor. Paths are of names joined by slashes.
type ActorStatus struct {
	Path      string `json:"path"`
	Depth     int    `json:"depth"`
	DepthMax  int    `json:"depthMax"`
	Messages  uint64 `json:"messages"`
	Dropped   uint64 `json:"dropped"`
	Restarts  uint64 `json:"restarts"`
	Recovered uint64 `json:"recovered"`
}

// SystemStatus is what the actor systems count themselves.
type SystemStatus struct {
	DeadLetters uint64 `json:"deadLetters"`
	Dropped     uint64 `json:"dropped"`
	Asks        int    `json:"asks"`
	Goroutines  int    `json:"goroutines"`
}

// SlotStatus is a worker with its last jobs, the newest last.
type SlotStatus struct {
	Kind   string `json:"kind"`
	Number int    `json:"number"`
	Jobs   []*Job `json:"jobs"`
}

// Status reads everything. It takes no lock that an actor waits for.
func (m *Monitor) Status() *Status {
	st := &Status{
		Now: m.now(), Measuring: m.Measuring(), Progress: m.progress.Load(),
		Shadow: m.shadowCounts(), Actors: []ActorStatus{}, Slots: []SlotStatus{},
		Blocks: []BlockRecord{},
	}
	st.Seconds = st.Now.Sub(m.began).Seconds()
	st.Verdict = st.Shadow.Verdict()
	for _, e := range m.blocks.read() {
		st.Blocks = append(st.Blocks, e.record())
	}
	if r := m.reports.Load(); r != nil {
		st.Storage, st.Accounts = r.storage, r.accounts
	}
	if s, ok := m.store(); ok {
		st.Store = &s
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Kind() == metrics.KindUint64 {
		st.Memory = heap[0].Value.Uint64()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.systems {
		st.addSystem(m.readActors(s))
	}
	for key, r := range m.slots {
		st.Slots = append(st.Slots, SlotStatus{key.kind, key.slot, r.read()})
	}
	slices.SortFunc(st.Slots, func(a, b SlotStatus) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number))
	})
	return st
}

func (st *Status) addSystem(s actors.Stats) {
	st.System.DeadLetters += s.DeadLetters
	st.System.Dropped += s.Dropped
	st.System.Asks += s.AsksOpen
	st.System.Goroutines += s.Goroutines
	for i := range s.Actors {
		a := &s.Actors[i]
		st.Actors = append(st.Actors, ActorStatus{
			a.Path, a.Depth, a.DepthMax, a.Processed, a.Dropped, a.Restarts, a.Recovered,
		})
	}
}
