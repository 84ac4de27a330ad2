package actors

import "time"

// Clock is the time that timers, backoffs and ask timeouts run on.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// AfterFunc calls f on some goroutine once d has passed; f must not block. stop keeps f from
	// being called and tells whether it did.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// RealClock is the operating system's clock.
func RealClock() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
