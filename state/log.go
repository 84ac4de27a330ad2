package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/balsa-sync/balsa/internal/mutants"
)

// The kinds of log entries.
const (
	logApplied = 'a' // a block on top of the one before
	logUndone  = 'u' // the block at the cursor, undone
)

// logEntry is what the log has of a commit: enough to do it again.
type logEntry struct {
	seq    uint64 // counts up from 1, without gaps
	kind   byte
	number uint64 // of the block
	hash   common.Hash
	header []byte // its header, where it was applied
	bal    []byte
}

// logHeadLen is kind, number, hash, and length of the header.
const logHeadLen = 1 + 8 + common.HashLength + 4

func logKey(dst []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, spaceLog), seq)
}

// addTo puts the entry into a batch.
func (e *logEntry) addTo(b *pebble.Batch) error {
	op := b.SetDeferred(1+8, logHeadLen+len(e.header)+len(e.bal))
	logKey(op.Key[:0], e.seq)
	v := append(op.Value[:0], e.kind)
	v = binary.BigEndian.AppendUint64(v, e.number)
	v = append(v, e.hash[:]...)
	v = binary.BigEndian.AppendUint32(v, uint32(len(e.header)))
	v = append(v, e.header...)
	_ = append(v, e.bal...)
	return op.Finish()
}

// parseLogEntry takes a row apart. It keeps references to value.
func parseLogEntry(key, value []byte) (logEntry, error) {
	if len(key) != 1+8 || len(value) < logHeadLen {
		return logEntry{}, fmt.Errorf("%w: log entry with key %x", ErrBadRow, key)
	}
	e := logEntry{
		seq: binary.BigEndian.Uint64(key[1:]), kind: value[0],
		number: binary.BigEndian.Uint64(value[1:]), hash: common.Hash(value[9 : 9+common.HashLength]),
	}
	n := binary.BigEndian.Uint32(value[logHeadLen-4:])
	rest := value[logHeadLen:]
	if e.kind != logApplied && e.kind != logUndone || uint64(n) > uint64(len(rest)) {
		return logEntry{}, fmt.Errorf("%w: log entry %d", ErrBadRow, e.seq)
	}
	e.header, e.bal = rest[:n:n], rest[n:]
	return e, nil
}

// Logged is a commit that was acknowledged, but whose rows were lost with the memory that held
// them: a block to be applied again, or to be undone again.
type Logged struct {
	Undone bool
	Number uint64 // of the block
	Hash   common.Hash
	seq    uint64
}

func (l Logged) String() string {
	if l.Undone {
		return fmt.Sprintf("undone block %d (%x)", l.Number, l.Hash)
	}
	return fmt.Sprintf("block %d (%x)", l.Number, l.Hash)
}

// Logged returns what lies in the log beyond the cursor that the store was opened at, in order,
// without blocks that were undone again. Until all of it has been committed and reverted again, in
// this order, the store takes nothing else (ErrLogged). It is empty where the store was closed in
// order.
func (s *Store) Logged() []Logged {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Logged(nil), s.pending...)
}

// LoggedBlock reads a block of Logged that is not undone.
func (s *Store) LoggedBlock(l Logged) (Block, error) {
	b, err := s.loggedBlock(l)
	if err != nil {
		return Block{}, fmt.Errorf("read %v from the log: %w", l, err)
	}
	return b, nil
}

func (s *Store) loggedBlock(l Logged) (Block, error) {
	v, err := s.acquire() // keeps the database open
	if err != nil {
		return Block{}, err
	}
	key := logKey(nil, l.seq)
	value, ok, err := getRow(s.db, key)
	if err = errors.Join(err, s.release(v)); err != nil {
		return Block{}, err
	}
	if !ok {
		return Block{}, ErrUnknownBlock
	}
	e, err := parseLogEntry(key, value)
	if err != nil {
		return Block{}, err
	}
	h := new(types.Header)
	if err := rlp.DecodeBytes(e.header, h); err != nil {
		return Block{}, corrupt(err)
	}
	if h.Hash() != l.Hash {
		return Block{}, fmt.Errorf("%w: its header is that of %x", ErrBadRow, h.Hash())
	}
	return Block{Header: h, Hash: l.Hash, BAL: e.bal}, nil
}

// readLog finds out what lies beyond the entry that the tables include.
func (s *Store) readLog(included uint64) error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{spaceLog}, UpperBound: []byte{spaceLog + 1},
	})
	if err != nil {
		return err
	}
	s.logSeq, s.trimmed, s.checkpointed = included, included, included
	err = s.walkLog(it, included)
	if s.logEnd = s.logSeq; len(s.pending) > 0 {
		s.logSeq = included
	}
	return readError(errors.Join(err, it.Error(), it.Close()))
}

func (s *Store) walkLog(it *pebble.Iterator, included uint64) error {
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		e, err := parseLogEntry(it.Key(), value)
		if err != nil {
			return err
		}
		switch {
		case e.seq <= included:
			s.trimmed = min(s.trimmed, e.seq-1)
			continue
		case e.seq != s.logSeq+1:
			return fmt.Errorf("%w: log entry %d follows %d", ErrCorrupt, e.seq, s.logSeq)
		}
		s.logSeq = e.seq
		if err := s.await(&e); err != nil {
			return err
		}
	}
	return nil
}

// await notes an entry that is to be done again. A block that is undone by it is left out.
func (s *Store) await(e *logEntry) error {
	n := len(s.pending)
	if mutants.Active == mutants.ForgetUndo && e.kind == logUndone {
		return nil
	}
	if e.kind == logUndone && n > 0 && !s.pending[n-1].Undone {
		if s.pending[n-1].Hash != e.hash {
			return fmt.Errorf("%w: log entry %d undoes block %x, at %v", ErrCorrupt, e.seq, e.hash,
				s.pending[n-1])
		}
		s.pending = s.pending[:n-1]
		return nil
	}
	s.pending = append(s.pending, Logged{
		Undone: e.kind == logUndone, Number: e.number, Hash: e.hash, seq: e.seq,
	})
	return nil
}

// mayLog refuses an entry that is not the next one to be done again, where there are any. The
// caller holds s.writing.
func (s *Store) mayLog(e *logEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	if next := s.pending[0]; next.Hash != e.hash || next.Undone != (e.kind == logUndone) {
		return fmt.Errorf("%w: next is %v", ErrLogged, next)
	}
	return nil
}

// writeLog is the first step of a commit. The result comes through the channel: the log's sync
// takes no processor, so the caller has other things to do meanwhile. An entry that is in the log
// already is not written again.
func (s *Store) writeLog(e *logEntry) (logged <-chan error, err error) {
	done := make(chan error, 1)
	s.mu.Lock()
	again := len(s.pending) > 0
	trim := s.checkpointed
	if mutants.Active == mutants.TrimUnwritten {
		trim = s.logSeq
	}
	s.mu.Unlock()
	if again {
		done <- nil
		return done, nil
	}
	e.seq = s.logSeq + 1
	batch := s.blockBatch()
	if err := errors.Join(e.addTo(batch), s.trimLog(batch, trim)); err != nil {
		return nil, err
	}
	sync := s.syncOption()
	go func() { done <- s.fail.run(func() error { return s.db.Apply(batch, sync) }) }()
	return done, nil
}

// trimLog removes the entries up to one that the tables include.
func (s *Store) trimLog(b *pebble.Batch, included uint64) error {
	var key keyBuf
	for ; s.trimmed < included; s.trimmed++ {
		if err := b.Delete(logKey(key[:0], s.trimmed+1), nil); err != nil {
			return err
		}
	}
	return nil
}

// loggedLocked moves the log's position behind the entry. The caller holds s.mu.
func (s *Store) loggedLocked(e *logEntry) {
	if len(s.pending) == 0 {
		s.logSeq, s.logEnd = e.seq, e.seq
		return
	}
	s.logSeq = s.pending[0].seq
	if s.pending = s.pending[1:]; len(s.pending) == 0 {
		s.logSeq = s.logEnd // what follows has been undone
	}
}
