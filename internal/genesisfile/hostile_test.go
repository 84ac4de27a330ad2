package genesisfile

import (
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// repeat reads a head, a text n times, and a tail, without holding them.
func repeat(head, text string, n int, tail string) io.Reader {
	readers := []io.Reader{strings.NewReader(head)}
	chunk := strings.Repeat(text, 1024)
	for range n / 1024 {
		readers = append(readers, strings.NewReader(chunk))
	}
	return io.MultiReader(append(readers, strings.NewReader(tail))...)
}

// TestWhatIsPassedOverTakesLittleMemory has files of 16 MB with nothing in them. Without the cuts
// the white space alone would be looked through some 10,000 times.
func TestWhatIsPassedOverTakesLittleMemory(t *testing.T) {
	const n = 16 << 20
	account := `{"alloc":{"` + strings.Repeat("1", 40) + `":{"balance":"1"`
	for name, c := range map[string]struct {
		r  io.Reader
		ok bool
	}{
		"space in front":     {repeat("", " ", n, `{"alloc":{}}`), true},
		"space in an object": {repeat(`{"alloc":{`, "\t", n, `}}`), true},
		"space in a member":  {repeat(`{"x":`, "\r\n", n/2, `1,"alloc":{}}`), true},
		"space behind":       {repeat(`{"alloc":{}}`, " ", n, ""), true},
		"space in a config":  {repeat(`{"config":{`, " ", n, `},"alloc":{}}`), true},
		"unknown member":     {repeat(`{"x":[`, "0,", n/16, `0],"alloc":{}}`), true},
		"account's member":   {repeat(account+`,"x":[`, "{},", n/16, `{}]}}}`), true},
		"nesting":            {repeat(`{"alloc":{},"x":`, "[", n, ""), false},
		"members":            {members(n / 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := parseFile(c.r)
			runtime.ReadMemStats(&after)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrSyntax) {
				t.Errorf("error %v", err)
			}
			live := int64(after.HeapInuse) - int64(before.HeapInuse)
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 || live > 64<<20 {
				t.Errorf("%d MB allocated, %d MB more in use", took>>20, live>>20)
			}
		})
	}
}

// members reads an object with n members of different names.
func members(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		enc := json.NewEncoder(w)
		_, err := io.WriteString(w, "{")
		for i := 0; i < n && err == nil; i++ {
			if err = enc.Encode(strings.Repeat("x", i%50) + string(rune('0'+i%10)) +
				strings.Repeat("y", i/50%500)); err == nil {
				_, err = io.WriteString(w, ":0,")
			}
		}
		w.CloseWithError(err)
	}()
	return r
}

func TestSpaceInStringsIsKept(t *testing.T) {
	gap := strings.Repeat(" ", 3*maxSpace)
	text := gap + `{"a` + gap + `\"` + gap + `\\":` + gap + `"` + gap + `"}` + gap
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)),
		"with its end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := io.ReadAll(&spaceLimiter{r: r})
		if err != nil {
			t.Fatal(name, err)
		}
		var want, have map[string]string
		if err := errors.Join(json.Unmarshal([]byte(text), &want),
			json.Unmarshal(got, &have)); err != nil {
			t.Fatal(name, err)
		}
		for k, v := range want {
			if have[k] != v || len(have) != 1 {
				t.Errorf("%s: %d members, %d bytes of %d", name, len(have), len(have[k]), len(v))
			}
		}
		if max := len(text) - 2*(len(gap)-maxSpace); len(got) > max {
			t.Errorf("%s: %d bytes, more than %d", name, len(got), max)
		}
	}
}
