package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
)

// MeterName is the instrumentation scope of all metrics of the engine.
const MeterName = TracerName

// Monitor is what engines and builds show of themselves while they run: the metrics balsa.*, and
// the Status behind the status page. One of them serves a process; engines of a process that run
// after each other share it.
//
// All methods may be called on a nil Monitor, which shows nothing, and by any goroutine. None of
// them waits for a reader, and readers wait for no actor.
type Monitor struct {
	now   func() time.Time
	meter metric.Meter
	off   atomic.Bool

	block  *blockInstruments
	blocks *ring[blockEntry]
	waited metric.Float64Histogram

	began    time.Time
	attached chan struct{} // closed with the first system
	once     sync.Once

	reports  atomic.Pointer[reports]
	progress atomic.Pointer[Progress]
	shadow   atomic.Pointer[func() ShadowCounts]
	exports  atomic.Pointer[func() Stats]
	lag      lags

	mu      sync.Mutex
	systems []*system
	stores  []*observedStore
	gone    map[string]actorTotals // of actors that are no more, by kind
	slots   map[slotKey]*ring[Job]
	credit  func() (waits uint64, total time.Duration)
}

// reports are those of a build's two phases, as they last were.
type reports struct{ storage, accounts *messages.BuildReport }

const (
	keptBlocks = 240
	keptJobs   = 256 // of each worker
)

// NewMonitor makes a monitor whose metrics go to p. Nil: none are made, and Status is all there is.
func NewMonitor(p metric.MeterProvider) (*Monitor, error) {
	measured := p != nil
	if !measured {
		p = noop.NewMeterProvider()
	}
	m := &Monitor{
		now: time.Now, meter: p.Meter(MeterName), blocks: newRing[blockEntry](keptBlocks),
		attached: make(chan struct{}), gone: map[string]actorTotals{},
		slots: map[slotKey]*ring[Job]{},
	}
	m.began = m.now()
	r := &register{meter: m.meter}
	m.block = newBlockInstruments(r)
	m.observeLag(r)
	m.observeActors(r)
	m.observeReports(r)
	m.observeStore(r)
	m.observeShadow(r)
	m.observeProgress(r)
	m.observeExports(r)
	observeProcess(r, m.began)
	if measured {
		if err := runtime.Start(runtime.WithMeterProvider(p)); err != nil {
			r.errs = append(r.errs, err)
		}
	}
	return m, r.err()
}

// Meter makes the instruments of packages that have some of their own.
func (m *Monitor) Meter() metric.Meter {
	if m == nil {
		return noop.NewMeterProvider().Meter(MeterName)
	}
	return m.meter
}

// SetMeasuring turns the measuring of blocks and jobs off and on while the engine runs. What counts
// actors, store and process costs nothing between two collections, and goes on. Default: on.
func (m *Monitor) SetMeasuring(on bool) {
	if m != nil {
		m.off.Store(!on)
	}
}

// Measuring says whether blocks and jobs are measured.
func (m *Monitor) Measuring() bool { return m != nil && !m.off.Load() }

// Attached is closed when the first engine or build shows itself: its store is open then.
func (m *Monitor) Attached() <-chan struct{} { return m.attached }

// StorageReports notes a build's reports as they stand. The reports are not to be changed
// afterwards.
func (m *Monitor) StorageReports(storage, accounts *messages.BuildReport) {
	if m != nil {
		m.reports.Store(&reports{storage, accounts})
	}
}

// Credit shows how often and how long a build's feeder has waited for credit.
func (m *Monitor) Credit(f func() (waits uint64, total time.Duration)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credit = f
}

// observedStore is a store that shows itself, with its figures as they last were.
type observedStore struct {
	read func() (state.Metrics, error)
	last state.Metrics
	at   time.Time
}

// Store shows a store's figures until the returned function is called.
func (m *Monitor) Store(read func() (state.Metrics, error)) (done func()) {
	if m == nil {
		return func() {}
	}
	s := &observedStore{read: read}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores = append(m.stores, s)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, other := range m.stores {
			if other == s {
				m.stores = append(m.stores[:i:i], m.stores[i+1:]...)
				return
			}
		}
	}
}

// storeEvery bounds how often a store is asked.
const storeEvery = 200 * time.Millisecond

// store is the figures of the store that was opened last; false: there is none.
func (m *Monitor) store() (state.Metrics, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stores) == 0 {
		return state.Metrics{}, false
	}
	s := m.stores[len(m.stores)-1]
	if now := m.now(); s.at.IsZero() || now.Sub(s.at) >= storeEvery {
		read, err := s.read()
		if err != nil {
			return s.last, !s.at.IsZero()
		}
		s.last, s.at = read, now
	}
	return s.last, true
}

// Exports shows what became of spans and metrics.
func (m *Monitor) Exports(read func() Stats) {
	if m != nil {
		m.exports.Store(&read)
	}
}

// observeExports makes the metrics balsa.telemetry.*.
func (m *Monitor) observeExports(r *register) {
	spans := r.total("balsa.telemetry.spans", "{span}", "Spans by what became of them")
	exports := r.total("balsa.telemetry.metric_exports", "{export}",
		"Exports of metrics by what became of them")
	r.observe(func(o metric.Observer) {
		read := m.exports.Load()
		if read == nil {
			return
		}
		s := (*read)()
		o.ObserveInt64(spans, int64(s.Exported), one(KeyOutcome, "exported"))
		o.ObserveInt64(spans, int64(s.Failed), one(KeyOutcome, "failed"))
		o.ObserveInt64(spans, int64(s.Dropped), one(KeyOutcome, "dropped"))
		o.ObserveInt64(exports, int64(s.MetricExports), one(KeyOutcome, "exported"))
		o.ObserveInt64(exports, int64(s.MetricsFailed), one(KeyOutcome, "failed"))
	})
}
