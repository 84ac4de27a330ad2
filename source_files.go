package balsa

import (
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/balsa-sync/balsa/internal/flatfile"
)

// ErrHeader: a file of flat state was opened without the header that it does not have, or with
// another one than it has.
var ErrHeader = errors.New("the header of the state's block")

// Files says which files an Import reads.
type Files struct {
	// State is a dump of "geth db export snapshot", or what Export wrote; with or without gzip. "-"
	// is Stdin.
	State string
	// Header is the header of the state's block. A dump has none, and needs it; in Balsa's own files
	// it stands, and must be the same where it is given.
	Header *types.Header
	// ChainID is the chain's id, for files that do not say. 0: the file's.
	ChainID uint64
	// Codes are files of codes: a JSON object of hashes and hex, or a dump of "geth db export code".
	Codes []string
	Stdin io.Reader
}

// FileSource is a Source of files.
type FileSource struct {
	files  Files
	state  *flatfile.Reader
	codes  *flatfile.Reader // the file of codes that is read
	next   int              // of Files.Codes
	behind bool             // the state's rows are over
}

// OpenFiles opens files as a Source. Errors: ErrInput where the file is no flat state, ErrHeader,
// and those of the file system. The source must be closed.
func OpenFiles(f Files) (*FileSource, error) {
	r, err := flatfile.Open(f.State, f.Stdin)
	if err != nil {
		return nil, err
	}
	s := &FileSource{files: f, state: r}
	if err := s.check(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.State, err), r.Close())
	}
	return s, nil
}

func (s *FileSource) check() error {
	switch s.state.Format() {
	case flatfile.GethSnapshot, flatfile.Leaves:
	default:
		return fmt.Errorf("%w: a file of %s has no accounts", ErrInput, s.state.Format())
	}
	has, given := s.state.Header(), s.files.Header
	switch {
	case has == nil && given == nil:
		return fmt.Errorf("%w: the file does not have it, so that it must be given", ErrHeader)
	case has != nil && given != nil && has.Hash() != given.Hash():
		return fmt.Errorf("%w: the file has block %d (%s), not block %d (%s)", ErrHeader, has.Number,
			has.Hash(), given.Number, given.Hash())
	case has != nil:
		s.files.Header = has
	}
	id := s.state.ChainID()
	if given := s.files.ChainID; given != 0 && id != 0 && given != id {
		return fmt.Errorf("%w: the file is of chain %d, not %d", ErrHeader, id, given)
	}
	if s.files.ChainID == 0 {
		s.files.ChainID = id
	}
	return nil
}

// Format names the format of the state's file.
func (s *FileSource) Format() string { return string(s.state.Format()) }

// Target implements Source.
func (s *FileSource) Target() (uint64, *types.Header) { return s.files.ChainID, s.files.Header }

// Mark implements Source. Codes do not count: they may be given later.
func (s *FileSource) Mark() string { return s.state.Mark() }

// Progress gives the bytes read of the state's file and its size, which is 0 where it is not known.
// It may be called from any goroutine.
func (s *FileSource) Progress() (done, total int64) { return s.state.Progress() }

// Next implements Source.
func (s *FileSource) Next() (*Row, error) {
	if !s.behind {
		row, err := s.state.Next()
		if err != io.EOF {
			return row, err
		}
		s.behind = true
	}
	for {
		if s.codes == nil {
			if s.next == len(s.files.Codes) {
				return nil, io.EOF
			}
			if err := s.openCodes(s.files.Codes[s.next]); err != nil {
				return nil, err
			}
			s.next++
		}
		row, err := s.codes.Next()
		if err != io.EOF {
			return row, err
		}
		if err := s.closeCodes(); err != nil {
			return nil, err
		}
	}
}

func (s *FileSource) openCodes(path string) error {
	r, err := flatfile.Open(path, s.files.Stdin)
	if err != nil {
		return err
	}
	if f := r.Format(); f != flatfile.CodesJSON && f != flatfile.GethCode {
		return errors.Join(fmt.Errorf("%s: %w: not a file of codes", path, ErrInput), r.Close())
	}
	s.codes = r
	return nil
}

func (s *FileSource) closeCodes() error {
	if s.codes == nil {
		return nil
	}
	r := s.codes
	s.codes = nil
	return r.Close()
}

// Close closes the files.
func (s *FileSource) Close() error { return errors.Join(s.closeCodes(), s.state.Close()) }
