package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sampler leaves out warnings and errors that repeat. Two records repeat each other if level and
// message are equal, whatever their attributes are.
type sampler struct {
	slog.Handler
	seen *repeats // shared by all that With made of one
}

// repeats counts records by level and message.
type repeats struct {
	burst  int
	window time.Duration

	mu     sync.Mutex
	counts map[repeatKey]*repeat
}

type repeatKey struct {
	level   slog.Level
	message string
}

type repeat struct {
	start   time.Time
	n       int
	dropped int
}

// repeatKeysMax bounds the memory of a sampler. Messages are constants, so that it is not reached.
const repeatKeysMax = 1024

func newSampler(h slog.Handler, burst int, window time.Duration) *sampler {
	return &sampler{Handler: h, seen: &repeats{
		burst: burst, window: window, counts: make(map[repeatKey]*repeat)}}
}

func (s *sampler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	pass, dropped := s.seen.count(r)
	if !pass {
		return nil
	}
	if dropped > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", dropped))
	}
	return s.Handler.Handle(ctx, r)
}

// count says whether a record may pass and how many were left out before it.
func (p *repeats) count(r slog.Record) (pass bool, dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := repeatKey{r.Level, r.Message}
	c := p.counts[key]
	if c == nil {
		if len(p.counts) >= repeatKeysMax {
			clear(p.counts)
		}
		c = &repeat{start: r.Time}
		p.counts[key] = c
	}
	if r.Time.Sub(c.start) >= p.window {
		dropped = c.dropped
		*c = repeat{start: r.Time}
	}
	if c.n++; c.n > p.burst {
		c.dropped++
		return false, 0
	}
	return true, dropped
}

func (s *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampler{Handler: s.Handler.WithAttrs(attrs), seen: s.seen}
}

func (s *sampler) WithGroup(name string) slog.Handler {
	return &sampler{Handler: s.Handler.WithGroup(name), seen: s.seen}
}
