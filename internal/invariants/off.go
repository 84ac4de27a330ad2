//go:build !invariants

package invariants

// Enabled tells whether Check checks. It is a constant: what stands in "if invariants.Enabled" is
// not compiled into an ordinary build.
const Enabled = false

// Check does nothing in this build. Its arguments are evaluated all the same where that has effects
// or makes allocations: put what is costly behind Enabled.
func Check(bool, string, ...any) {}
