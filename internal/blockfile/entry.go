package blockfile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// Position is where an object starts. Lines and elements count from 1.
type Position struct {
	File    string
	Line    int
	Element int // the how-manieth object of the file
}

// String is written as compilers write positions: file:line, and the element.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d (element %d)", p.File, p.Line, p.Element)
}

// Block is what the engine needs of a block.
type Block struct {
	Header       *types.Header
	BAL          []byte // RLP of the block access list (EIP-7928), as the file has it
	Transactions int    // -1: the file does not say
}

// Entry is a block as a file has it, not checked yet.
type Entry struct {
	At Position
	// Number and Hash of the block and of its parent. Of a payload they are what the payload says
	// of itself, until Block has checked them.
	Number       uint64
	Hash, Parent common.Hash

	header  *types.Header // nil: rebuild it from the payload
	payload *engine.ExecutableData
	params  *payloadParams // nil: bare payload
	bal     []byte         // nil: none
}

// String names the block: its number and its hash.
func (e *Entry) String() string { return fmt.Sprintf("block %d (%s)", e.Number, e.Hash) }

// HasAccessList says whether the file gives the block with a block access list.
func (e *Entry) HasAccessList() bool { return e.bal != nil }

// Block checks the block's hash and gives the block. Errors: ErrPreAmsterdam, ErrBlockHash,
// ErrBarePayload, ErrSyntax, each with the position and the block's name.
func (e *Entry) Block() (Block, error) {
	if e.bal == nil {
		return Block{}, fmt.Errorf("%s: %s %w", e.At, e, ErrPreAmsterdam)
	}
	if e.payload == nil {
		return Block{Header: e.header, BAL: e.bal, Transactions: -1}, nil
	}
	h, err := rebuildHeader(e.payload, e.params)
	if err != nil {
		return Block{}, fmt.Errorf("%s: %s: %w", e.At, e, err)
	}
	return Block{Header: h, BAL: e.bal, Transactions: len(e.payload.Transactions)}, nil
}

// object has the members by which the forms are told apart.
type object struct {
	Method          *string         `json:"method"`
	Params          *params         `json:"params"`
	Header          json.RawMessage `json:"header"`
	BlockAccessList *hexutil.Bytes  `json:"blockAccessList"`
	BlockHash       *common.Hash    `json:"blockHash"`
	StateRoot       *common.Hash    `json:"stateRoot"`
}

// params are the first of a request's params. encoding/json passes over what an array has no room
// for, so a long list takes no memory.
type params [4]json.RawMessage

// decodeEntry reads an object of any of the forms. The entry keeps no reference into text.
func decodeEntry(text []byte) (*Entry, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	switch {
	case o.Params != nil:
		return decodeRequest(&o)
	case o.Header != nil:
		return decodeHeader(&o)
	case o.BlockHash != nil && o.StateRoot != nil:
		return decodePayload(text, nil)
	}
	return nil, fmt.Errorf(`%w: neither an engine_newPayload request ("params") nor a payload `+
		`("blockHash", "stateRoot") nor a "header" with its "blockAccessList"`, ErrSyntax)
}

func decodeRequest(o *object) (*Entry, error) {
	if o.Method != nil && !strings.HasPrefix(*o.Method, "engine_newPayload") {
		return nil, fmt.Errorf("%w: a request for %.60q, not for engine_newPayload", ErrSyntax, *o.Method)
	}
	if o.Params[0] == nil {
		return nil, fmt.Errorf("%w: a request without params", ErrSyntax)
	}
	p, err := decodeParams(o.Params[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return decodePayload(o.Params[0], p)
}

func decodePayload(text []byte, params *payloadParams) (*Entry, error) {
	p := new(engine.ExecutableData)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return &Entry{
		Number: p.Number, Hash: p.BlockHash, Parent: p.ParentHash,
		payload: p, params: params, bal: p.BlockAccessList,
	}, nil
}

func decodeHeader(o *object) (*Entry, error) {
	h, err := parseHeader(o.Header)
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrSyntax, err)
	}
	e := &Entry{Number: h.Number.Uint64(), Hash: h.Hash(), Parent: h.ParentHash, header: h}
	if o.BlockHash != nil && *o.BlockHash != e.Hash {
		return nil, fmt.Errorf("%s: %w: the file says %s", e, ErrBlockHash, *o.BlockHash)
	}
	if o.BlockAccessList != nil {
		e.bal = *o.BlockAccessList
	}
	if e.bal == nil && h.BlockAccessListHash != nil {
		return nil, fmt.Errorf("%s: %w: its blockAccessList is missing", e, ErrSyntax)
	}
	return e, nil
}

// parseHeader reads a header: a string is its RLP in hex, an object its members by name.
func parseHeader(text json.RawMessage) (*types.Header, error) {
	h := new(types.Header)
	if text[0] != '{' {
		var enc hexutil.Bytes
		if err := json.Unmarshal(text, &enc); err != nil {
			return nil, err
		}
		if err := rlp.DecodeBytes(enc, h); err != nil {
			return nil, fmt.Errorf("its RLP: %v", err) // not wrapped: it may be io.EOF
		}
		return h, h.SanityCheck()
	}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	if err := h.SanityCheck(); err != nil {
		return nil, err
	}
	var said struct {
		Hash *common.Hash `json:"hash"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	if said.Hash != nil && *said.Hash != h.Hash() {
		return nil, fmt.Errorf("%w: it says %s and hashes to %s", ErrBlockHash, *said.Hash, h.Hash())
	}
	return h, nil
}
