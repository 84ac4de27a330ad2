package balsa

import (
	"context"

	"github.com/balsa-sync/balsa/state"
)

// Init builds the store's state from a genesis and checks that it has the header's root. It is
// Import of GenesisSource: see there for what it leaves when it is cut off, and for its errors.
func Init(ctx context.Context, o Options, g Genesis) (state.Cursor, error) {
	if _, err := cursorOf(g.Header); err != nil {
		return state.Cursor{}, err
	}
	src, err := GenesisSource(g)
	if err != nil {
		return state.Cursor{}, err
	}
	res, err := Import(ctx, o, src, ImportOptions{})
	return res.Cursor, err
}
