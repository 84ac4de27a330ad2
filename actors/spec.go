package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

const maxNameLen = 64

// Spec says how an actor is spawned.
type Spec struct {
	// Name is the actor's name below its parent: 1 to 64 letters, digits, '-', '_' or '.'. It is
	// unique among the living children of one parent.
	Name string
	// Numbered appends '-' and a number that the system has not used yet to Name, so that no name
	// is ever used twice: for workers that come and go.
	Numbered bool
	// New makes one incarnation of the actor: at the spawn and after each failure. It has no
	// effects; an actor begins its work at *actor.Started.
	New func() actor.Actor
	// Children is how this actor's children are restarted. Its zero value means its defaults.
	Children Restarts
}

// Restarts bounds how often a failing actor is restarted. The restart itself waits for Backoff,
// doubled for each failure that is still within the window, and never longer than Within: a longer
// wait would forget the failures it is there to count.
type Restarts struct {
	// Max is how many restarts are made within Within before the actor is given up. Default 3;
	// negative: none.
	Max int
	// Within is the window in which failures are counted. Default 10 s.
	Within time.Duration
	// Backoff is the wait before the first restart. Default 10 ms; negative: none.
	Backoff time.Duration
}

const (
	defaultRestartsMax     = 3
	defaultRestartsWithin  = 10 * time.Second
	defaultRestartsBackoff = 10 * time.Millisecond
)

// validate fills in the defaults.
func (r *Restarts) validate() error {
	if r.Within < 0 {
		return fmt.Errorf("%w: Within %v is negative", ErrBadSpec, r.Within)
	}
	if r.Max == 0 {
		r.Max = defaultRestartsMax
	}
	if r.Within == 0 {
		r.Within = defaultRestartsWithin
	}
	if r.Backoff == 0 {
		r.Backoff = defaultRestartsBackoff
	}
	return nil
}

// backoff is the wait before the restart that the n-th failure within the window asks for, n >= 1.
func (r *Restarts) backoff(n int) time.Duration {
	d := max(r.Backoff, 0)
	for i := 1; i < n && d < r.Within; i++ {
		d *= 2
	}
	return min(d, r.Within)
}

// validate fills in the defaults.
func (sp *Spec) validate() error {
	if err := checkName(sp.Name); err != nil {
		return err
	}
	if sp.New == nil {
		return fmt.Errorf("%w: %q has no New", ErrBadSpec, sp.Name)
	}
	if err := sp.Children.validate(); err != nil {
		return fmt.Errorf("%q: children: %w", sp.Name, err)
	}
	return nil
}

// checkName keeps names apart from paths ('/') and from the kit's own ('$').
func checkName(name string) error {
	if name == "" || len(name) > maxNameLen {
		return fmt.Errorf("%w: %.80q has %d characters", ErrBadName, name, len(name))
	}
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return fmt.Errorf("%w: %q has %q", ErrBadName, name, r)
		}
	}
	return nil
}
