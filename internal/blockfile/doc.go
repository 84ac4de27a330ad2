// Package blockfile streams blocks with their block access lists (EIP-7928) out of files.
//
// A file holds JSON objects: one, an array of them, or one after the other, usually one a line;
// it may be compressed with gzip, which is told by its first bytes, not by its name. An object is
// one of
//
//   - an engine_newPayload request of the Engine API: {"jsonrpc", "method", "params": [payload,
//     versionedHashes, parentBeaconBlockRoot, executionRequests]};
//   - a bare payload: the first of those params alone;
//   - a header with its access list: {"header", "blockAccessList"}, where the header is its RLP as
//     hex, or a JSON object as eth_getBlockByNumber answers it.
//
// The header of a payload is not in the file: it is rebuilt from the payload and from the params,
// and its hash is compared with the payload's blockHash. A bare payload carries neither the parent
// beacon root nor the execution requests; it can be read only where those are empty.
//
// Nothing is read as a whole: a Reader holds one object at a time, bounded by
// Options.MaxBlockBytes, and an archive that unpacks to any size costs no more than that. What an
// object says is checked when Entry.Block is called, so that blocks that will be skipped cost
// little more than the reading.
package blockfile
