package flatfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
)

// A mark is taken of pieces spread over a file, the first and the last among them: reading all of a
// file of a hundred gigabytes twice would take longer than what it is for. A file of leaves ends
// with its checksum, so that it is told apart for certain. What slips through leads to a wrong
// root, after which nothing of it is kept.
const (
	markPieces = 16
	markBytes  = 4 << 10
)

func markFile(f io.ReaderAt, size int64) (string, error) {
	sum := sha256.New()
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	buf := make([]byte, min(markBytes, size))
	last := size - int64(len(buf))
	for i := range int64(markPieces) {
		at := last / (markPieces - 1) * i
		if i == markPieces-1 {
			at = last
		}
		if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		sum.Write(buf)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func markStream(r *bufio.Reader) (string, error) {
	start, err := r.Peek(markBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", readError(err)
	}
	sum := sha256.Sum256(start)
	return hex.EncodeToString(sum[:16]), nil
}
