package balactor

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
	"github.com/balsa-sync/balsa/state"
	"github.com/balsa-sync/balsa/trie"
)

// accountsDone is the account trie after the changes: its root and the rows that changed.
type accountsDone struct {
	root     common.Hash
	branches []state.BranchWrite
}

// updateAccounts updates the whole account trie in one go.
func updateAccounts(ctx context.Context, u *updater, r trie.Reader, empty bool,
	changes []trie.Change) (accountsDone, error) {
	u.begin(ctx)
	id, err := u.Update(0, u.reader(r), empty, changes)
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		return accountsDone{}, fmt.Errorf("account trie: %w", trieError(err))
	}
	return accountsDone{root: u.Root(id), branches: u.sink.sorted()}, nil
}

// updateParts updates the account trie below some nibbles of its root.
func updateParts(u *updater, r trie.Reader, m *messages.UpdateAccounts) (
	*messages.AccountsUpdated, error) {
	u.begin(m.Ctx)
	out := &messages.AccountsUpdated{Job: m.Job}
	for _, run := range m.Runs {
		x := run[0].Key[0] >> 4
		part, err := u.UpdatePart(0, u.reader(r), m.Root, x, run)
		if err != nil {
			return nil, fmt.Errorf("account trie below nibble %x: %w", x, trieError(err))
		}
		out.Parts = append(out.Parts, part)
	}
	out.Branches = u.sink.sorted()
	return out, nil
}

// joinParts puts updated parts under the account trie's root.
func joinParts(ctx context.Context, u *updater, r trie.Reader, root trie.Branch,
	done []*messages.AccountsUpdated) (accountsDone, error) {
	u.begin(ctx)
	var parts []trie.Part
	var below []state.BranchWrite
	for _, d := range done {
		parts = append(parts, d.Parts...)
		below = append(below, d.Branches...)
	}
	id, err := u.JoinParts(0, u.reader(r), root, parts)
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		return accountsDone{}, fmt.Errorf("account trie: joining its parts: %w", trieError(err))
	}
	return accountsDone{root: u.Root(id), branches: append(u.sink.sorted(), below...)}, nil
}

// partition groups changes by their first nibble and deals the groups, in order, to at most n jobs
// of about equal size.
func partition(changes []trie.Change, n int) [][][]trie.Change {
	aim := (len(changes) + n - 1) / n
	var jobs [][][]trie.Change
	var job [][]trie.Change
	size := 0
	for len(changes) > 0 {
		k, x := 1, changes[0].Key[0]>>4
		for k < len(changes) && changes[k].Key[0]>>4 == x {
			k++
		}
		job, size = append(job, changes[:k]), size+k
		changes = changes[k:]
		if size >= aim {
			jobs, job, size = append(jobs, job), nil, 0
		}
	}
	if len(job) > 0 {
		jobs = append(jobs, job)
	}
	return jobs
}
