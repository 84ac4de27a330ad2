package bench

import (
	"fmt"

	"github.com/balsa-sync/balsa/internal/balbench"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	gethbal "github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb/database"
	"github.com/holiman/uint256"
)

// snapPeer applies blocks to flat rows and trie nodes of go-ethereum's layout directly, one batch
// a block.
type snapPeer struct {
	db   ethdb.Database
	root common.Hash
}

// NewSnapPeer makes the peer "snap" with a store in dir, which must not exist.
func NewSnapPeer(dir string, s Sizes, g *Genesis) (Side, error) {
	db, err := balbench.MakeGeth(dir, s.CacheMB, g)
	if err != nil {
		return nil, err
	}
	return &snapPeer{db: db, root: g.Root}, nil
}

func (p *snapPeer) Name() string { return "geth snap" }

// NodeReader and Node serve the trie nodes of the one state that the store holds.
func (p *snapPeer) NodeReader(common.Hash) (database.NodeReader, error) { return p, nil }

func (p *snapPeer) Node(owner common.Hash, path []byte, hash common.Hash) ([]byte, error) {
	return rawdb.ReadTrieNode(p.db, owner, path, hash, rawdb.PathScheme), nil
}

func (p *snapPeer) Apply(header *types.Header, raw []byte) (common.Hash, error) {
	list, err := balbench.DecodeGeth(header, raw)
	if err != nil {
		return common.Hash{}, err
	}
	batch := p.db.NewBatch()
	accounts, err := trie.New(trie.StateTrieID(p.root), p)
	if err != nil {
		return common.Hash{}, fmt.Errorf("bench: %w", err)
	}
	for i := range *list {
		if err := p.account(&(*list)[i], accounts, batch); err != nil {
			return common.Hash{}, fmt.Errorf("bench: account %v: %w", (*list)[i].Address, err)
		}
	}
	root := writeNodes(accounts, batch)
	if err := batch.Write(); err != nil {
		return common.Hash{}, fmt.Errorf("bench: %w", err)
	}
	p.root = root
	return root, nil
}

func (p *snapPeer) account(a *gethbal.AccountAccess, accounts *trie.Trie, batch ethdb.Batch) error {
	hash := crypto.Keccak256Hash(a.Address[:])
	account := types.NewEmptyStateAccount()
	before := rawdb.ReadAccountSnapshot(p.db, hash)
	if len(before) > 0 {
		var err error
		if account, err = types.FullAccount(before); err != nil {
			return err
		}
	}
	if len(a.StorageChanges) > 0 {
		root, err := p.storage(hash, account.Root, a, batch)
		if err != nil {
			return err
		}
		account.Root = root
	}
	if n := len(a.BalanceChanges); n > 0 {
		account.Balance = a.BalanceChanges[n-1].PostBalance
	}
	if n := len(a.NonceChanges); n > 0 {
		account.Nonce = a.NonceChanges[n-1].PostNonce
	}
	if n := len(a.CodeChanges); n > 0 {
		code := a.CodeChanges[n-1].NewCode
		account.CodeHash = crypto.Keccak256(code)
		if len(code) > 0 {
			rawdb.WriteCode(batch, common.BytesToHash(account.CodeHash), code)
		}
	}
	empty := account.Nonce == 0 && account.Balance.IsZero() &&
		common.BytesToHash(account.CodeHash) == types.EmptyCodeHash
	if empty && len(before) == 0 {
		return nil
	}
	if empty {
		rawdb.DeleteAccountSnapshot(batch, hash)
		return accounts.Delete(hash[:])
	}
	rawdb.WriteAccountSnapshot(batch, hash, types.SlimAccountRLP(*account))
	value, err := rlp.EncodeToBytes(account)
	if err != nil {
		return err
	}
	return accounts.Update(hash[:], value)
}

// storage applies an account's slots and returns its new storage root.
func (p *snapPeer) storage(hash, root common.Hash, a *gethbal.AccountAccess,
	batch ethdb.Batch) (common.Hash, error) {
	slots, err := trie.New(trie.StorageTrieID(p.root, hash, root), p)
	if err != nil {
		return common.Hash{}, err
	}
	for i := range a.StorageChanges {
		s := &a.StorageChanges[i]
		key := s.Slot.Bytes32()
		slot := crypto.Keccak256Hash(key[:])
		value := s.SlotChanges[len(s.SlotChanges)-1].PostValue
		if err := writeSlot(slots, hash, slot, value, batch); err != nil {
			return common.Hash{}, err
		}
	}
	return writeNodes(slots, batch), nil
}

func writeSlot(slots *trie.Trie, account, slot common.Hash, value *uint256.Int,
	batch ethdb.Batch) error {
	if value.IsZero() {
		rawdb.DeleteStorageSnapshot(batch, account, slot)
		return slots.Delete(slot[:])
	}
	blob, err := rlp.EncodeToBytes(value)
	if err != nil {
		return err
	}
	rawdb.WriteStorageSnapshot(batch, account, slot, blob)
	return slots.Update(slot[:], blob)
}

// writeNodes hashes the trie and puts its changed nodes into the batch.
func writeNodes(t *trie.Trie, batch ethdb.Batch) common.Hash {
	root, nodes := t.Commit(false)
	if nodes == nil {
		return root
	}
	for path, n := range nodes.Nodes {
		if n.IsDeleted() {
			rawdb.DeleteTrieNode(batch, nodes.Owner, []byte(path), n.Hash, rawdb.PathScheme)
		} else {
			rawdb.WriteTrieNode(batch, nodes.Owner, []byte(path), n.Hash, n.Blob, rawdb.PathScheme)
		}
	}
	return root
}

func (p *snapPeer) Close() error { return p.db.Close() }
