// Command simulate runs simulations by seed: see package simulation.
//
//	simulate -seeds 10000 -from 1      seeds 1 to 10000, in as many processes as there are cores
//	simulate -from 77 -trace           one seed, with a line for each step
//
// It prints what the runs saw, and for each seed that fails the command that replays it. The exit
// code is 1 where one did.
package main
