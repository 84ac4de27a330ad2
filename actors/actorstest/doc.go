// Package actorstest has what tests of actors need: a system that is shut down with the test, a
// probe that collects messages, and doubles that fail or that have children.
//
// Assert on the test's own goroutine, never within Receive: t.FailNow there ends the goroutine that
// runs the mailbox.
package actorstest
