//go:build mutant && forget_undo

package mutants

// Active is the fault that is planted in this build.
const Active = ForgetUndo
