// Package endtoend tests the engine as an embedder uses it: generated chains are applied from their
// block access lists, rewound and applied again on real file systems and in memory, and the state
// is compared with go-ethereum's, account by account and slot by slot.
package endtoend
