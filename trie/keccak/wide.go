package keccak

// maxLanes is the number of lanes of the widest kernel.
const maxLanes = 8

// maxClasses bounds the blocks of messages that wait for others of as many blocks.
const maxClasses = 8

// minFilled is the number of messages that is worth a run of a kernel with idle lanes: a kernel
// takes about as long as one message takes alone.
const minFilled = 2

// wide hashes on the lanes of a kernel, messages with equal numbers of blocks together.
type wide struct {
	lanes int
	alone scalar

	// waiting are messages by their number of whole blocks, during a call of Hash.
	waiting [maxClasses]struct {
		ms [maxLanes]Message
		n  int
	}
}

func newWide(lanes int) *wide { return &wide{lanes: lanes, alone: scalar{newSponge()}} }

func (h *wide) Lanes() int { return h.lanes }

func (h *wide) Hash(ms []Message) {
	waiting := 0
	for len(ms) > 0 {
		if len(ms) >= h.lanes && equalBlocks(ms[:h.lanes]) {
			runKernel(ms[:h.lanes], len(ms[0].Data)/Rate+1)
			ms = ms[h.lanes:]
			continue
		}
		m := &ms[0]
		ms = ms[1:]
		class := len(m.Data) / Rate
		if class >= maxClasses || !hasRoom(m) || waiting == 0 && len(ms) == 0 {
			h.alone.one(m)
			continue
		}
		waiting++
		w := &h.waiting[class]
		w.ms[w.n] = *m
		w.n++
		if w.n == h.lanes {
			waiting -= w.n
			h.release(class)
		}
	}
	for class := 0; waiting > 0; class++ {
		if n := h.waiting[class].n; n > 0 {
			waiting -= n
			h.release(class)
		}
	}
}

// release hashes the messages of a class that wait.
func (h *wide) release(class int) {
	w := &h.waiting[class]
	if w.n < minFilled {
		h.alone.Hash(w.ms[:w.n])
	} else {
		for i := w.n; i < h.lanes; i++ {
			w.ms[i] = w.ms[0] // an idle lane: it writes the same hash to the same place
		}
		runKernel(w.ms[:h.lanes], class+1)
	}
	clear(w.ms[:])
	w.n = 0
}

// equalBlocks tells whether messages can run together.
func equalBlocks(ms []Message) bool {
	blocks := len(ms[0].Data) / Rate
	for i := range ms {
		if len(ms[i].Data)/Rate != blocks || !hasRoom(&ms[i]) {
			return false
		}
	}
	return true
}

// hasRoom tells whether a kernel may read whole blocks of a message.
func hasRoom(m *Message) bool { return cap(m.Data) >= PaddedLen(len(m.Data)) }
