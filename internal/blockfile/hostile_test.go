package blockfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// allocated gives the bytes that f allocates, whether they are freed meanwhile or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManySmallValuesTakeLittleMemory has payloads of some MB that would take a hundred times that
// when they are decoded: each byte or two of an array is a slice, a struct or a pointer.
func TestManySmallValuesTakeLittleMemory(t *testing.T) {
	const n = 4 << 20
	payload := `{"blockHash":"0x` + strings.Repeat("0", 64) + `","stateRoot":"0x` +
		strings.Repeat("0", 64) + `",`
	for name, text := range map[string]string{
		"transactions": payload + `"transactions":[` + strings.Repeat(`"0x",`, n) + `"0x"]}`,
		"nulls":        payload + `"transactions":[` + strings.Repeat(`null,`, n) + `"0x"]}`,
		"withdrawals":  payload + `"withdrawals":[` + strings.Repeat(`{},`, n) + `{}]}`,
		"requests": `{"params":[` + payload + `"number":"0x1"},[],null,[` +
			strings.Repeat(`"0x",`, n) + `"0x"]]}`,
		"hashes":  `{"params":[{},[` + strings.Repeat(`0,`, n) + `0]]}`,
		"members": `{` + strings.Repeat(`"a":0,`, n) + `"a":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "block.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(Options{Paths: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			took := allocated(func() { _, err = r.Next() })
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v", err)
			}
			if took > 16<<20 {
				t.Errorf("%d MB allocated for %d MB of text", took>>20, len(text)>>20)
			}
		})
	}
}

// TestAsManyValuesAsAreAllowedTakeBoundedMemory stays just below the limit.
func TestAsManyValuesAsAreAllowedTakeBoundedMemory(t *testing.T) {
	text := `{"header":"0x","transactions":[` + strings.Repeat(`"0x",`, maxBlockValues-8) + `"0x"]}`
	objects := NewObjects(strings.NewReader(text), DefaultMaxBlockBytes, maxBlockValues)
	took := allocated(func() {
		object, _, err := objects.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodePayload(object, nil); err == nil {
			t.Error("an incomplete payload passes")
		}
	})
	if took > 128<<20 {
		t.Errorf("%d MB allocated", took>>20)
	}
}
