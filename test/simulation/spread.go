package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"sync"
)

// Seeds are seeds to run, and how.
type Seeds struct {
	From, N      uint64
	Procs        int
	Chunk        uint64 // seeds a process
	MaxFailures  int
	Fingerprints bool
	Cores        int // of each process: GOMAXPROCS
}

// childEnv has a process run seeds instead of what it would do.
const childEnv = "BALSA_SIMULATION_SEEDS"

// gcPercent trades memory, of which a run takes little, for time.
const gcPercent = 400

// Child runs what the parent process asks for; false: there is none, this is no child. Programs
// that call Spread call it first and end where it is true.
func Child() bool {
	var s Seeds
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &s); err != nil {
		return false
	}
	debug.SetGCPercent(gcPercent)
	var w Worker
	var sum Sum
	for seed := s.From; seed < s.From+s.N && len(sum.Failures) < s.MaxFailures; seed++ {
		res := w.Run(seed, nil)
		sum.Add(&res)
		if res.Err != nil {
			sum.Failures = append(sum.Failures, FailureOf(&res))
		}
		if s.Fingerprints {
			sum.Fingerprints = append(sum.Fingerprints, Print{seed, res.Fingerprint})
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(&sum); err != nil {
		os.Exit(1)
	}
	return true
}

// Spread runs seeds in processes of their own, some beside each other: what a failed disk leaves
// parked in a process goes with it. It stops early where enough have failed.
func Spread(s Seeds) Sum {
	chunks, sums := make(chan uint64), make(chan Sum)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range s.Procs {
		wg.Go(func() {
			for from := range chunks {
				part := s
				part.From, part.N = from, min(s.Chunk, s.From+s.N-from)
				sums <- spawn(part)
			}
		})
	}
	go func() {
		defer func() { close(chunks); wg.Wait(); close(sums) }()
		for from := s.From; from < s.From+s.N; from += s.Chunk {
			select {
			case chunks <- from:
			case <-stop:
				return
			}
		}
	}()
	var total Sum
	stopped := false
	for part := range sums {
		total.Merge(&part)
		if len(total.Failures) >= s.MaxFailures && !stopped {
			close(stop)
			stopped = true
		}
	}
	return total
}

func spawn(s Seeds) (sum Sum) {
	arg, err := json.Marshal(&s)
	if err != nil {
		panic(err) // it is a struct of numbers
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(arg), fmt.Sprintf("GOMAXPROCS=%d", s.Cores))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &sum)
	}
	if err != nil {
		sum.Failures = append(sum.Failures, Failure{
			Seed: s.From, Err: fmt.Sprintf("the process of seeds %d to %d: %v", s.From, s.From+s.N-1, err),
		})
	}
	return sum
}
