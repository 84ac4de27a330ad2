package classic

// nibblesOf splits a key into nibbles, the high one first.
func nibblesOf(key []byte) []byte {
	path := make([]byte, 2*len(key))
	for i, b := range key {
		path[2*i] = b >> 4
		path[2*i+1] = b & 0x0f
	}
	return path
}

// packed is the inverse of nibblesOf; of an odd number of nibbles the last one is left out.
func packed(path []byte) []byte {
	key := make([]byte, len(path)/2)
	for i := range key {
		key[i] = path[2*i]<<4 | path[2*i+1]
	}
	return key
}

// hexPrefixStringLen returns the size of the RLP of a path's hex-prefix encoding, whose first byte
// is below 0x80.
func hexPrefixStringLen(path []byte) int {
	n := 1 + len(path)/2
	if n == 1 {
		return 1
	}
	return headerLen(n) + n
}

// appendHexPrefixString packs a path into bytes (Yellow Paper, appendix C), as RLP: the first
// nibble says whether the node is a leaf (2) and whether the number of nibbles is odd (1).
func appendHexPrefixString(dst, path []byte, isLeaf bool) []byte {
	if n := 1 + len(path)/2; n > 1 {
		dst = appendHeader(dst, 0x80, n)
	}
	var first byte
	if isLeaf {
		first = 0x20
	}
	if len(path)%2 == 1 {
		first |= 0x10 | path[0]
		path = path[1:]
	}
	dst = append(dst, first)
	for i := 0; i < len(path); i += 2 {
		dst = append(dst, path[i]<<4|path[i+1])
	}
	return dst
}

// stringLen returns the size of the RLP of a byte string.
func stringLen(s []byte) int {
	if len(s) == 1 && s[0] < 0x80 {
		return 1
	}
	return headerLen(len(s)) + len(s)
}

// appendString appends the RLP of a byte string (Yellow Paper, appendix B).
func appendString(dst, s []byte) []byte {
	if len(s) == 1 && s[0] < 0x80 {
		return append(dst, s[0])
	}
	return append(appendHeader(dst, 0x80, len(s)), s...)
}

// appendListHeader appends the header of an RLP list whose items take size bytes.
func appendListHeader(dst []byte, size int) []byte {
	return appendHeader(dst, 0xc0, size)
}

// headerLen returns the size of the header before a payload of size bytes.
func headerLen(size int) int {
	n := 1
	if size > 55 {
		for ; size > 0; size >>= 8 {
			n++
		}
	}
	return n
}

func appendHeader(dst []byte, kind byte, size int) []byte {
	if size <= 55 {
		return append(dst, kind+byte(size))
	}
	n := headerLen(size) - 1
	dst = append(dst, kind+55+byte(n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(size>>(8*i)))
	}
	return dst
}
