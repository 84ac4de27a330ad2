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

	// waiting messages, by their number of whole blocks, during a call of Hash.
	waiting [maxClasses][maxLanes]Message
	count   [maxClasses]int
}

func newWide(lanes int) *wide { return &wide{lanes: lanes, alone: scalar{newSponge()}} }

func (h *wide) Lanes() int { return h.lanes }

func (h *wide) Hash(ms []Message) {
	waiting := false
	for len(ms) > 0 {
		if len(ms) >= h.lanes && equalBlocks(ms[:h.lanes]) {
			runKernel(ms[:h.lanes], len(ms[0].Data)/Rate+1)
			ms = ms[h.lanes:]
			continue
		}
		m := &ms[0]
		ms = ms[1:]
		class := len(m.Data) / Rate
		if class >= maxClasses || !hasRoom(m) {
			h.alone.one(m)
			continue
		}
		waiting = true
		h.waiting[class][h.count[class]] = *m
		if h.count[class]++; h.count[class] == h.lanes {
			h.release(class)
		}
	}
	if waiting {
		for class := range h.waiting {
			h.release(class)
		}
	}
}

// release hashes the messages of a class that wait.
func (h *wide) release(class int) {
	n := h.count[class]
	ms := h.waiting[class][:h.lanes]
	if n < minFilled {
		h.alone.Hash(ms[:n])
	} else {
		for i := n; i < h.lanes; i++ {
			ms[i] = ms[0] // an idle lane: it writes the same hash to the same place
		}
		runKernel(ms, class+1)
	}
	clear(ms)
	h.count[class] = 0
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
