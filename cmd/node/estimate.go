package main

import (
	"slices"
	"time"
)

// estimate says how long something will still take, from how far it is. It goes by the speed over
// the later half of the time so far: a speed that changes is followed, and as time goes on single
// moments weigh less and less, so that the estimate settles.
//
// The zero value is ready.
type estimate struct {
	points []milestone // ascending
}

// milestone is how far something was at a time.
type milestone struct {
	at    time.Time
	share float64 // 0 to 1
}

const (
	milestonesMax   = 256
	milestonesApart = 100 * time.Millisecond
)

// start sets the beginning. Only the first call counts.
func (e *estimate) start(at time.Time) {
	if len(e.points) == 0 {
		e.points = append(e.points, milestone{at: at})
	}
}

// add notes how far it is. A share that is smaller than one before is no progress, and left out.
func (e *estimate) add(now time.Time, share float64) {
	last := e.points[len(e.points)-1]
	if share < last.share || now.Sub(last.at) < milestonesApart {
		return
	}
	if len(e.points) == milestonesMax { // keep every other one, and the first
		kept := e.points[:1]
		for i := 2; i < len(e.points); i += 2 {
			kept = append(kept, e.points[i])
		}
		e.points = kept
	}
	e.points = append(e.points, milestone{now, share})
}

// remaining is what is left; -1: not known.
func (e *estimate) remaining(now time.Time, share float64) time.Duration {
	first := e.points[0]
	half := first.at.Add(now.Sub(first.at) / 2)
	i, exact := slices.BinarySearchFunc(e.points, half, func(m milestone, t time.Time) int {
		return m.at.Compare(t)
	})
	if !exact {
		i-- // the last one before
	}
	from := e.points[max(i, 0)]
	done, took := share-from.share, now.Sub(from.at)
	switch {
	case share >= 1:
		return 0
	case done <= 0 || took <= 0:
		return -1
	}
	return time.Duration(float64(took) * (1 - share) / done)
}
