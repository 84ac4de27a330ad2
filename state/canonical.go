package state

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// BlockHash returns the hash of the block with a number on the cursor's branch, the only one whose
// headers the store holds. It is false above the cursor, and below the first block of the store.
func (sn *Snapshot) BlockHash(number uint64) (common.Hash, bool, error) {
	lower := binary.BigEndian.AppendUint64([]byte{spaceHeader}, number)
	w := sn.walk(lower, successor(lower))
	defer w.Close()
	if !w.Next() {
		return common.Hash{}, false, w.Error()
	}
	k := w.it.Key()
	if len(k) != len(lower)+common.HashLength {
		w.bad("header")
		return common.Hash{}, false, w.Error()
	}
	hash := common.BytesToHash(k[len(lower):])
	if w.Next() {
		return common.Hash{}, false, fmt.Errorf("%w: two headers of block %d", ErrCorrupt, number)
	}
	return hash, true, w.Error()
}
