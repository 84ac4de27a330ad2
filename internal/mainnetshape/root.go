package mainnetshape

import (
	"context"

	"github.com/balsa-sync/balsa/trie"
	"github.com/ethereum/go-ethereum/common"
)

// rootBatch is how many leaves of storage tries are hashed together, at least.
const rootBatch = 4096

// Root computes the state root: all leaves through one builder, one after the other, nothing
// stored. Whoever builds the state by other means has it to check against.
func (s *State) Root(ctx context.Context) (common.Hash, error) {
	r := rooter{storage: trie.NewBuilder(trie.Options{}), accounts: trie.NewBuilder(trie.Options{})}
	r.accounts.Begin(0)
	for w := s.Walk(); w.Next(); {
		if err := r.add(ctx, w); err != nil {
			return common.Hash{}, err
		}
	}
	if err := r.flush(ctx); err != nil {
		return common.Hash{}, err
	}
	id, err := r.accounts.End()
	if err == nil {
		err = r.accounts.Flush()
	}
	return r.accounts.Root(id), err
}

// rooter has the accounts whose storage tries are not hashed yet.
type rooter struct {
	storage, accounts *trie.Builder
	waiting           []Walk // only account and number of slots are used
	ids               []int
	leaves            int
	leaf              []byte
}

func (r *rooter) add(ctx context.Context, w *Walk) error {
	id := -1
	if w.Slots > 0 {
		r.storage.Begin(0)
		for st := w.Storage(); st.Next(); {
			if err := r.storage.Leaf(&st.Slot, st.Value); err != nil {
				return err
			}
		}
		var err error
		if id, err = r.storage.End(); err != nil {
			return err
		}
	}
	r.waiting, r.ids = append(r.waiting, *w), append(r.ids, id)
	if r.leaves += int(w.Slots) + 1; r.leaves < rootBatch {
		return nil
	}
	return r.flush(ctx)
}

func (r *rooter) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.storage.Flush(); err != nil {
		return err
	}
	for i := range r.waiting {
		w := &r.waiting[i]
		if r.ids[i] >= 0 {
			w.Account.StorageRoot = r.storage.Root(r.ids[i])
		}
		r.leaf = w.Account.AppendFull(r.leaf[:0])
		if err := r.accounts.Leaf(&w.Hash, r.leaf); err != nil {
			return err
		}
	}
	r.storage.Reset()
	r.waiting, r.ids, r.leaves = r.waiting[:0], r.ids[:0], 0
	return nil
}
