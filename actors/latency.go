package actors

import "time"

// timedEvery is how many user messages a mailbox hands over from one that it times to the next. A
// time costs two readings of the clock, which would be a good part of a message's cost.
const timedEvery = 16

// timing finds out how long messages wait in a mailbox. At most one message is timed at a time: the
// reader asks for it by setting the mailbox's probe, which the next sender takes. All but the probe
// is the reader's own.
type timing struct {
	tell   func(wait time.Duration) // nil: nothing is timed
	posted int64                    // of the message that is timed; 0: none is
	ahead  int                      // messages up to it, itself included
	since  int                      // handed over since the last one asked for
}

// collected notes the n-th message of the queue, if it is timed.
func (t *timing) collected(posted int64, n int) {
	if posted != 0 {
		t.posted, t.ahead = posted, n
	}
}

// observe has user messages timed. It is called before the mailbox starts.
func (m *mailbox) observe(tell func(wait time.Duration)) {
	m.timing.tell = tell
	m.probe.Store(true)
}

// timed is called for each user message that is handed over.
func (m *mailbox) timed() {
	t := &m.timing
	if t.tell == nil {
		return
	}
	if t.posted != 0 {
		if t.ahead--; t.ahead == 0 {
			t.tell(time.Duration(max(time.Now().UnixNano()-t.posted, 0)))
			t.posted, t.since = 0, 0
		}
		return
	}
	if t.since++; t.since == timedEvery {
		m.probe.Store(true)
	}
}
