package genesisfile

import "io"

// maxSpace is how much white space in a row is handed on. A decoder of encoding/json holds a run in
// memory as a whole and looks through it from its start with every read.
const maxSpace = 4 << 10

// spaceLimiter reads JSON and cuts runs of white space between its values to maxSpace bytes, which
// changes nothing that they mean.
type spaceLimiter struct {
	r                 io.Reader
	run               int // bytes of white space that came last
	inString, escaped bool
}

// Read implements io.Reader.
func (s *spaceLimiter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := s.r.Read(p)
		if n = s.cut(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// cut moves what is kept to the front of p and returns its length.
func (s *spaceLimiter) cut(p []byte) int {
	kept := 0
	for _, c := range p {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = c == '\\', c != '"'
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			if s.run++; s.run > maxSpace {
				continue
			}
		default:
			s.inString, s.run = c == '"', 0
		}
		p[kept] = c
		kept++
	}
	return kept
}
