package bal

// span is where the content of an RLP item lies in the bytes it was read from.
type span struct{ start, end int }

// header reads the header of the item at pos, which must end at limit or before it, and returns
// where its content lies and whether it is a list. Only the shortest header is accepted. limit
// must not be above len(raw); the error is a bare sentinel.
func header(raw []byte, pos, limit int) (s span, list bool, err error) {
	if pos >= limit {
		return span{}, false, ErrTruncated
	}
	b := raw[pos]
	switch {
	case b < 0x80: // a byte that is its own encoding
		return span{pos, pos + 1}, false, nil
	case b < 0xb8:
		s = span{pos + 1, pos + 1 + int(b-0x80)}
		if s.end > limit {
			return span{}, false, ErrTruncated
		}
		if b == 0x81 && raw[s.start] < 0x80 {
			return span{}, false, ErrNotCanonical
		}
		return s, false, nil
	case b < 0xc0:
		s, err = longHeader(raw, pos, limit, int(b-0xb7))
		return s, false, err
	case b < 0xf8:
		s = span{pos + 1, pos + 1 + int(b-0xc0)}
		if s.end > limit {
			return span{}, true, ErrTruncated
		}
		return s, true, nil
	default:
		s, err = longHeader(raw, pos, limit, int(b-0xf7))
		return s, true, err
	}
}

// longHeader reads a header whose length takes n bytes of its own, 1 to 8. The length is compared
// with what there is before it is converted, so that no length overflows an int.
func longHeader(raw []byte, pos, limit, n int) (span, error) {
	start := pos + 1 + n
	if start > limit {
		return span{}, ErrTruncated
	}
	if raw[pos+1] == 0 {
		return span{}, ErrNotCanonical
	}
	var length uint64
	for _, b := range raw[pos+1 : start] {
		length = length<<8 | uint64(b)
	}
	if length < 56 {
		return span{}, ErrNotCanonical
	}
	if length > uint64(limit-start) {
		return span{}, ErrTruncated
	}
	return span{start, start + int(length)}, nil
}

// number gives the value of an integer's content of at most 8 bytes.
func number(content []byte) (n uint64) {
	for _, b := range content {
		n = n<<8 | uint64(b)
	}
	return n
}

// hashOf gives the 32 bytes of an integer's content of at most 32 bytes.
func hashOf(content []byte) (h [32]byte) {
	copy(h[32-len(content):], content)
	return h
}

// compareNumbers orders two integers' contents, neither with leading zeros.
func compareNumbers(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	for i := range a {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}
