package bench

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profile starts a CPU profile of Balsa's segment from the given block on, where one is wanted.
// The file of a later segment has the block's number behind its name.
func profile(name string, from int, side Side) (stop func(), err error) {
	if _, ours := side.(*BalsaSide); name == "" || !ours {
		return func() {}, nil
	}
	if from > 1 {
		name = fmt.Sprintf("%s.%d", name, from)
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}
