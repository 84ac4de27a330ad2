//go:build mutant && forget_corrections

package mutants

// Active is the fault that is planted in this build.
const Active = ForgetCorrections
