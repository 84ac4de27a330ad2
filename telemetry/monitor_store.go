package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/metric"

	"github.com/balsa-sync/balsa/state"
)

// storeTotal and storeGauge are instruments with what they show of a store.
type storeTotal struct {
	i metric.Int64ObservableCounter
	v func(*state.Metrics) int64
}

type storeGauge struct {
	i metric.Int64ObservableGauge
	v func(*state.Metrics) int64
}

// observeStore makes the metrics balsa.store.*: Pebble's own.
func (m *Monitor) observeStore(r *register) {
	totals, gauges := storeTotals(r), storeGauges(r)
	compacting := r.totalTime("balsa.store.compaction.time", "Compacting, summed")
	stalled := r.totalTime("balsa.store.stall.time", "Writes waiting for flushes or compactions")
	levels := m.observeLevels(r)
	r.observe(func(o metric.Observer) {
		st, ok := m.store()
		if !ok {
			return
		}
		for _, t := range totals {
			o.ObserveInt64(t.i, t.v(&st))
		}
		for _, g := range gauges {
			o.ObserveInt64(g.i, g.v(&st))
		}
		o.ObserveFloat64(compacting, st.CompactionTime.Seconds())
		o.ObserveFloat64(stalled, st.StallTime.Seconds())
		levels(o, &st)
	})
}

func storeTotals(r *register) []storeTotal {
	n := func(name, unit, what string, v func(*state.Metrics) int64) storeTotal {
		return storeTotal{r.total("balsa.store."+name, unit, what), v}
	}
	return []storeTotal{
		n("compactions", "{compaction}", "Compactions that ended",
			func(m *state.Metrics) int64 { return m.Compactions }),
		n("compactions.failed", "{compaction}", "Compactions that failed",
			func(m *state.Metrics) int64 { return m.CompactionsFailed }),
		n("flushes", "{flush}", "Flushes of memtables",
			func(m *state.Metrics) int64 { return m.Flushes }),
		n("ingestions", "{ingestion}", "Ingestions of tables",
			func(m *state.Metrics) int64 { return int64(m.Ingestions) }),
		n("cache.hits", "{block}", "Blocks of tables found in the cache",
			func(m *state.Metrics) int64 { return m.CacheHits }),
		n("cache.misses", "{block}", "Blocks of tables that had to be read",
			func(m *state.Metrics) int64 { return m.CacheMisses }),
		n("filter.hits", "{lookup}", "Look-ups that a filter spared a table",
			func(m *state.Metrics) int64 { return m.FilterHits }),
		n("filter.misses", "{lookup}", "Look-ups that a filter let through",
			func(m *state.Metrics) int64 { return m.FilterMisses }),
		n("log.written", "By", "Bytes written to the log",
			func(m *state.Metrics) int64 { return int64(m.LogBytesWritten) }),
		n("stalls", "{stall}", "Times that writes waited for flushes or compactions",
			func(m *state.Metrics) int64 { return int64(m.Stalls) }),
	}
}

func storeGauges(r *register) []storeGauge {
	g := func(name, unit, what string, v func(*state.Metrics) int64) storeGauge {
		return storeGauge{r.gauge("balsa.store."+name, unit, what), v}
	}
	return []storeGauge{
		g("compactions.running", "{compaction}", "Compactions under way",
			func(m *state.Metrics) int64 { return m.CompactionsNow }),
		g("compaction.debt", "By", "What compactions are behind, estimated",
			func(m *state.Metrics) int64 { return int64(m.CompactionDebt) }),
		g("read_amplification", "{table}", "Tables that a read may have to look into",
			func(m *state.Metrics) int64 { return int64(m.ReadAmplification) }),
		g("cache.size", "By", "Blocks of tables in memory",
			func(m *state.Metrics) int64 { return m.CacheBytes }),
		g("memtable.size", "By", "Memtables", func(m *state.Metrics) int64 {
			return int64(m.MemTableBytes)
		}),
		g("overlay.size", "By", "Recent rows kept in memory for reads",
			func(m *state.Metrics) int64 { return int64(m.Overlay) }),
		g("disk.size", "By", "All files", func(m *state.Metrics) int64 {
			return int64(m.DiskBytes)
		}),
		g("log.size", "By", "Logs that are not in tables yet",
			func(m *state.Metrics) int64 { return int64(m.LogBytes) }),
		g("obsolete.size", "By", "Tables that are not needed and not removed yet",
			func(m *state.Metrics) int64 { return int64(m.ObsoleteBytes + m.ZombieBytes) }),
		g("iterators", "{iterator}", "Open iterators over tables",
			func(m *state.Metrics) int64 { return m.TableIterators }),
	}
}

// observeLevels makes the metrics of Pebble's levels.
func (m *Monitor) observeLevels(r *register) func(metric.Observer, *state.Metrics) {
	tables := r.gauge("balsa.store.level.tables", "{table}", "Tables of a level")
	size := r.gauge("balsa.store.level.size", "By", "Tables of a level")
	score := r.level("balsa.store.level.score", "1", "From 1 on a level wants compacting")
	read := r.total("balsa.store.level.read", "By", "Bytes that compactions read of a level")
	written := r.total("balsa.store.level.written", "By",
		"Bytes that flushes, ingestions and compactions wrote to a level")
	return func(o metric.Observer, st *state.Metrics) {
		for i := range st.Levels {
			l, attr := &st.Levels[i], one(KeyLevel, strconv.Itoa(i))
			o.ObserveInt64(tables, l.Tables, attr)
			o.ObserveInt64(size, l.Bytes, attr)
			o.ObserveFloat64(score, l.Score, attr)
			o.ObserveInt64(read, int64(l.Read), attr)
			o.ObserveInt64(written, int64(l.Written), attr)
		}
	}
}
