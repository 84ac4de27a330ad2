package chaingen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// payloadMethod is the engine call of Amsterdam payloads, which carry the access list.
const payloadMethod = "engine_newPayloadV5"

// ErrPayload is wrapped by the errors of lines that are no request as WritePayloads writes them.
var ErrPayload = errors.New("chaingen: bad payload")

// request is a JSON-RPC request of the engine API. Its parameters are the payload, the versioned
// hashes of blobs, the parent beacon block root and the execution requests; chains of this
// package have no blobs and no requests.
type request struct {
	Version string            `json:"jsonrpc"`
	ID      uint64            `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

// headerLine is a header, as RLP, with its raw block access list.
type headerLine struct {
	Header          hexutil.Bytes `json:"header"`
	BlockAccessList hexutil.Bytes `json:"blockAccessList"`
}

// WriteGenesis writes the genesis as geth's genesis JSON, from which go-ethereum makes the same
// genesis block again.
func (c *Chain) WriteGenesis(w io.Writer) error {
	text, err := json.MarshalIndent(c.Genesis, "", " ")
	if err != nil {
		return fmt.Errorf("%w: genesis: %w", ErrGenerate, err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WritePayloads writes the blocks as engine_newPayloadV5 requests, one a line; the id of a
// request is the block number.
func (c *Chain) WritePayloads(w io.Writer) error {
	return writeLines(w, c.Blocks, func(b *types.Block) (any, error) {
		params := []any{
			engine.BlockToExecutableData(b, nil, nil, nil).ExecutionPayload,
			[]common.Hash{},
			b.BeaconRoot(),
			[]hexutil.Bytes{},
		}
		r := request{Version: "2.0", ID: b.NumberU64(), Method: payloadMethod}
		for _, p := range params {
			raw, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			r.Params = append(r.Params, raw)
		}
		return r, nil
	})
}

// WriteHeaders writes the blocks as {"header","blockAccessList"} objects, one a line: the header
// as RLP, the access list raw, both as hex.
func (c *Chain) WriteHeaders(w io.Writer) error {
	return writeLines(w, c.Blocks, func(b *types.Block) (any, error) {
		header, err := rlp.EncodeToBytes(b.Header())
		if err != nil {
			return nil, err
		}
		list, err := AccessListRLP(b)
		return headerLine{header, list}, err
	})
}

func writeLines(w io.Writer, blocks []*types.Block, line func(*types.Block) (any, error)) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	for _, b := range blocks {
		v, err := line(b)
		if err != nil {
			return fmt.Errorf("%w: block %d: %w", ErrGenerate, b.NumberU64(), err)
		}
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// ReadPayloads reads what WritePayloads has written. go-ethereum makes the blocks of it and so
// has checked that each hashes to what the payload says.
func ReadPayloads(r io.Reader) ([]*types.Block, error) {
	var blocks []*types.Block
	for dec := json.NewDecoder(r); ; {
		var req request
		err := dec.Decode(&req)
		if err == io.EOF {
			return blocks, nil
		}
		if err == nil {
			var b *types.Block
			if b, err = req.block(); err == nil {
				blocks = append(blocks, b)
				continue
			}
		}
		return nil, fmt.Errorf("%w: request %d: %w", ErrPayload, len(blocks)+1, err)
	}
}

func (r request) block() (*types.Block, error) {
	if r.Method != payloadMethod || len(r.Params) != 4 {
		return nil, fmt.Errorf("method %q with %d parameters", r.Method, len(r.Params))
	}
	var (
		payload  engine.ExecutableData
		blobs    []common.Hash
		beacon   *common.Hash
		requests []hexutil.Bytes
	)
	for i, v := range []any{&payload, &blobs, &beacon, &requests} {
		if err := json.Unmarshal(r.Params[i], v); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	list := make([][]byte, len(requests))
	for i := range requests {
		list[i] = requests[i]
	}
	return engine.ExecutableDataToBlock(payload, blobs, beacon, list)
}
