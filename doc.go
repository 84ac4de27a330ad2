// Package balsa embeds the Balsa engine: an Ethereum node's full state, kept at the head of the
// chain from block access lists (EIP-7928) without executing transactions, each block proven
// against its state root.
//
// Init builds a store from a genesis or from any known state. Open opens it and starts the engine.
// Engine.Apply applies a block by its header and its block access list; Engine.Rewind undoes
// blocks; Engine.View reads the state and proves it to others.
//
// A root derived from a block access list shows that list and root agree. It does not show that
// the block's transactions produce that list: only executing them does. An embedder takes headers
// from a source that it trusts for this, such as a consensus client.
package balsa
