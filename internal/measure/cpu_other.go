//go:build !unix

package measure

import "time"

// CPUTime is the processor time that the process has used, as the operating system counts it; 0
// where it is not known.
func CPUTime() time.Duration { return 0 }
