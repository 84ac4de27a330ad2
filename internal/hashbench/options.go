package hashbench

import (
	"errors"
	"fmt"
)

// ErrBadOptions: nothing can be measured that way.
var ErrBadOptions = errors.New("hashbench: bad options")

// Options say how much is measured. The zero value means the defaults.
type Options struct {
	Leaves int // of the one large trie, and of all small ones together; default 1,000,000
	Rounds int // default 5
	Hashes int // messages hashed in one measurement, those of 64 blocks apart; default 200,000
	// Progress is told what is measured next. Default: nothing is told.
	Progress func(what string)
}

// trieLeaves is the size of a small trie, flushTries how many of them share their hashing.
const (
	trieLeaves = 10
	flushTries = 64
)

func (o *Options) validate() error {
	setDefault(&o.Leaves, 1_000_000)
	setDefault(&o.Rounds, 5)
	setDefault(&o.Hashes, 200_000)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Leaves < flushTries*trieLeaves || o.Rounds < 1 || o.Hashes < group {
		return fmt.Errorf("%w: %d leaves, %d rounds, %d hashes", ErrBadOptions, o.Leaves, o.Rounds,
			o.Hashes)
	}
	return nil
}

func setDefault(v *int, n int) {
	if *v == 0 {
		*v = n
	}
}
