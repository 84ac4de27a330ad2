package storageactor

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Errors that a StorageResult, AccountsBuilt or BuildRejected carries, wrapped with the account.
// Leaves that cannot be a trie's fail with the errors of package trie: ErrKeyOrder,
// ErrDuplicateKey, ErrEmptyValue, ErrValueTooLarge.
var (
	ErrRootMismatch = errors.New("the storage root is not the expected one")
	ErrRead         = errors.New("reading flat rows failed")
	ErrStore        = errors.New("the rows could not be stored")
	ErrWorkerFailed = errors.New("a worker failed on every attempt")
	ErrBadRequest   = errors.New("the request breaks the protocol")
	ErrNoCredit     = errors.New("more accounts are outstanding than there is credit for")
	ErrUnanswered   = errors.New("storage is still being built")
)

// RootMismatchError is ErrRootMismatch with both roots.
type RootMismatchError struct {
	Account   common.Hash
	Want, Got common.Hash
}

// Error names the account and both roots.
func (e *RootMismatchError) Error() string {
	return fmt.Sprintf("account %s: %v: want %s, got %s", e.Account, ErrRootMismatch, e.Want, e.Got)
}

// Unwrap makes errors.Is(err, ErrRootMismatch) true.
func (e *RootMismatchError) Unwrap() error { return ErrRootMismatch }
