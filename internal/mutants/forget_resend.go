//go:build mutant && forget_resend

package mutants

// Active is the fault that is planted in this build.
const Active = ForgetResend
