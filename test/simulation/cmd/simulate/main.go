package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/balsa-sync/balsa/test/simulation"
)

func main() {
	if simulation.Child() {
		return
	}
	s := simulation.Seeds{Cores: 2}
	flag.Uint64Var(&s.From, "from", 1, "the first seed")
	flag.Uint64Var(&s.N, "seeds", 1, "how many seeds")
	flag.IntVar(&s.Procs, "procs", runtime.NumCPU(), "processes beside each other")
	flag.Uint64Var(&s.Chunk, "chunk", 250, "seeds a process")
	flag.IntVar(&s.MaxFailures, "failures", 10, "stop after so many failures")
	trace := flag.Bool("trace", false, "print a line for each step")
	flag.Parse()
	if *trace {
		os.Exit(traced(&s))
	}
	start := time.Now()
	sum := simulation.Spread(s)
	sum.Print(os.Stdout, time.Since(start))
	if len(sum.Failures) > 0 {
		os.Exit(1)
	}
}

// traced runs the seeds with a trace.
func traced(s *simulation.Seeds) (code int) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, simulation.Legend)
	var w simulation.Worker
	for seed := s.From; seed < s.From+s.N; seed++ {
		res := w.Run(seed, out)
		fmt.Fprintf(out, "# seed %d: fingerprint %016x\n", seed, res.Fingerprint)
		if res.Err != nil {
			fmt.Fprintf(out, "# FAILED: %v\n", res.Err)
			code = 1
		}
	}
	return code
}
