package balsa

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/telemetry"
)

// Executions takes the ends of a block's transaction executions: see Engine.Executions.
type Executions = telemetry.Executions

// Executions begins to take the ends of the executions of a block's transactions, so that the
// block's root-ready lag is known: how much later than the last execution the root was proven, 0
// where the root came first. The embedder calls it before Apply, End(worker) as each execution
// ends, by workers that count from 0, and Done after the last one.
//
// Nil, whose methods do nothing, where Options.Monitor is not set or SetMeasuring(false) was
// called; such blocks count as not sampled.
func (e *Engine) Executions(block common.Hash, workers int) *Executions {
	return e.opts.Monitor.Executions(block, workers)
}

// SetMeasuring turns the measuring of blocks, jobs and root-ready lags off and on while the engine
// runs. It is on from the beginning, where Options.Monitor is set.
func (e *Engine) SetMeasuring(on bool) { e.opts.Monitor.SetMeasuring(on) }
