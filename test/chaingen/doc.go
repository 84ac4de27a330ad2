// Package chaingen makes sample chains for tests: post-Amsterdam blocks with real block access
// lists (EIP-7928), executed by go-ethereum's core.GenerateChain on its own state.
//
// A chain is a pure function of its Config: the family names what its blocks do, the seed draws
// keys, addresses, values and choices, and neither the clock nor the machine has a say. Families
// lists the families; "mix" has something of every other one.
//
//	c, err := chaingen.Generate(chaingen.Config{Family: "mix", Seed: 1, Blocks: 300, Size: 12})
//
// What a test can do with a chain:
//
//   - write it: WriteGenesis (geth's genesis JSON), WritePayloads (engine_newPayloadV5 requests,
//     one a line) and WriteHeaders (header and access list, one a line);
//   - branch it: Fork gives a second chain that shares the blocks up to a common ancestor;
//   - look into it: Reference reads go-ethereum's own state after any block;
//   - prove it: Replay applies the access lists to a plain map and compares every state root,
//     without an EVM and without anything of Balsa.
//
// The genesis is the same for every family of one seed and size, so chains of different families
// differ in their blocks only and Fork can change the family at the ancestor.
package chaingen
