package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/balsa-sync/balsa/actors"
)

// system is an actor system that shows itself.
type system struct {
	sys  *actors.System
	last map[string]actors.ActorStats // by path, of those that were there at the last reading
	// Counters of the system itself, as they last were.
	deadLetters, dropped, nils uint64
}

// actorTotals are counts over actors that are no more.
type actorTotals struct{ processed, dropped, restarts, recovered uint64 }

func (t *actorTotals) add(a *actors.ActorStats) {
	t.processed += a.Processed
	t.dropped += a.Dropped
	t.restarts += a.Restarts
	t.recovered += a.Recovered
}

// kindOf is an actor's kind: the last name of its path, without its number.
func kindOf(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(name, '-'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

// Waited is for actors.Options.Waited.
func (m *Monitor) Waited(path string, wait time.Duration) {
	if m.Measuring() {
		m.waited.Record(context.Background(), wait.Seconds(), one(KeyActor, kindOf(path)))
	}
}

// Actors shows a system's actors until the returned function is called, before the system ends.
func (m *Monitor) Actors(sys *actors.System) (done func()) {
	if m == nil {
		return func() {}
	}
	s := &system{sys: sys, last: map[string]actors.ActorStats{}}
	m.mu.Lock()
	m.systems = append(m.systems, s)
	m.mu.Unlock()
	m.once.Do(func() { close(m.attached) })
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.readActors(s)
		for _, a := range s.last {
			m.bury(&a)
		}
		m.gone[""] = m.gone[""].plus(s)
		for i, other := range m.systems {
			if other == s {
				m.systems = append(m.systems[:i:i], m.systems[i+1:]...)
				return
			}
		}
	}
}

// plus adds a system's own counters: dead letters count as processed, refused nils as recovered.
func (t actorTotals) plus(s *system) actorTotals {
	t.processed += s.deadLetters
	t.dropped += s.dropped
	t.recovered += s.nils
	return t
}

func (m *Monitor) bury(a *actors.ActorStats) {
	t := m.gone[kindOf(a.Path)]
	t.add(a)
	m.gone[kindOf(a.Path)] = t
}

// readActors reads a system, and keeps the counts of actors that have gone since. The caller holds
// m.mu.
func (m *Monitor) readActors(s *system) actors.Stats {
	st := s.sys.Stats()
	now := make(map[string]actors.ActorStats, len(st.Actors))
	for _, a := range st.Actors {
		now[a.Path] = a
	}
	for path, a := range s.last {
		if _, there := now[path]; !there {
			m.bury(&a)
		}
	}
	s.last = now
	s.deadLetters, s.dropped, s.nils = st.DeadLetters, st.Dropped, st.RefusedNils
	return st
}

// kindTotals is what a metric shows of the actors of a kind.
type kindTotals struct {
	actorTotals
	living, depth, depthMax int
}

// actorKinds sums up by kind, those that are no more included, and the systems' own.
func (m *Monitor) actorKinds() (kinds map[string]*kindTotals, own actorTotals, asks, routines int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own = m.gone[""]
	kinds = map[string]*kindTotals{}
	for kind, t := range m.gone {
		if kind != "" {
			kinds[kind] = &kindTotals{actorTotals: t}
		}
	}
	for _, s := range m.systems {
		st := m.readActors(s)
		own = own.plus(s)
		asks, routines = asks+st.AsksOpen, routines+st.Goroutines
		for i := range st.Actors {
			a := &st.Actors[i]
			k := kinds[kindOf(a.Path)]
			if k == nil {
				k = &kindTotals{}
				kinds[kindOf(a.Path)] = k
			}
			k.add(a)
			k.living++
			k.depth += a.Depth
			k.depthMax = max(k.depthMax, a.DepthMax)
		}
	}
	return kinds, own, asks, routines
}

// observeActors makes the metrics balsa.actor.*.
func (m *Monitor) observeActors(r *register) {
	m.waited = r.duration("balsa.actor.mailbox.wait.duration",
		"A message's wait in the mailbox, of one message in sixteen")
	count := r.gauge("balsa.actor.count", "{actor}", "Living actors")
	depth := r.gauge("balsa.actor.mailbox.depth", "{message}", "User messages that wait")
	depthMax := r.gauge("balsa.actor.mailbox.depth_max", "{message}",
		"The most user messages that ever waited for one actor")
	messages := r.total("balsa.actor.messages", "{message}", "User messages handed over")
	dropped := r.total("balsa.actor.dropped", "{message}",
		"User messages to actors that were stopping")
	restarts := r.total("balsa.actor.restarts", "{restart}", "Restarts after a failure")
	recovered := r.total("balsa.actor.recovered", "{panic}",
		"Panics while an actor was restarting or stopping")
	dead := r.total("balsa.actor.dead_letters", "{message}", "User messages to nobody")
	nils := r.total("balsa.actor.refused_nils", "{message}", "Messages refused because they are nil")
	asks := r.gauge("balsa.actor.asks", "{ask}", "Asks that wait for an answer")
	routines := r.gauge("balsa.actor.goroutines", "{goroutine}",
		"Goroutines of the dispatcher, the parked ones included")
	r.observe(func(o metric.Observer) {
		kinds, own, waiting, pool := m.actorKinds()
		for kind, k := range kinds {
			attr := one(KeyActor, kind)
			o.ObserveInt64(count, int64(k.living), attr)
			o.ObserveInt64(depth, int64(k.depth), attr)
			o.ObserveInt64(depthMax, int64(k.depthMax), attr)
			o.ObserveInt64(messages, int64(k.processed), attr)
			o.ObserveInt64(dropped, int64(k.dropped), attr)
			o.ObserveInt64(restarts, int64(k.restarts), attr)
			o.ObserveInt64(recovered, int64(k.recovered), attr)
		}
		o.ObserveInt64(dead, int64(own.processed))
		o.ObserveInt64(nils, int64(own.recovered))
		o.ObserveInt64(asks, int64(waiting))
		o.ObserveInt64(routines, int64(pool))
	})
}
