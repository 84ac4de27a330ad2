//go:build invariants

package invariants

import "fmt"

// Enabled tells whether Check checks. It is a constant: what stands in "if invariants.Enabled" is
// not compiled into an ordinary build.
const Enabled = true

// Check panics with the message where cond is false.
func Check(cond bool, format string, args ...any) {
	if !cond {
		panic(fmt.Sprintf("invariant broken: "+format, args...))
	}
}
