package chaingen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	sampleDir      = "sample"
	sampleMaxBytes = 3 << 20
)

// sampleConfig is what the shipped sample was made of.
var sampleConfig = Config{Family: "mix", Seed: 1, Blocks: 300, Size: 12}

// TestSampleIsWhatItsCommandGives makes the sample again. Compressed files are compared by their
// content: Go's compressor may change.
func TestSampleIsWhatItsCommandGives(t *testing.T) {
	t.Parallel()
	c, err := Generate(sampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{
		GenesisFile:  c.WriteGenesis,
		PayloadsFile: c.WritePayloads,
	} {
		shipped, err := ReadFile(filepath.Join(sampleDir, name))
		if err != nil {
			t.Fatal(err)
		}
		var made bytes.Buffer
		if err := write(&made); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(shipped, made.Bytes()) {
			t.Errorf("%s is not what chaingen makes now: run the command of %s/README.md",
				name, sampleDir)
		}
	}
	const step = 20 // every root takes seconds under the race detector
	if _, err := replay(c, step); err != nil {
		t.Error(err)
	}
	t.Run("something of everything", func(t *testing.T) { sampleHasAll(t, c) })
}

// sampleHasAll holds the sample's first blocks against what each family of mix has.
func sampleHasAll(t *testing.T, c *Chain) {
	const first = 64 // the census reads the whole state at every block
	short := *c
	short.Blocks = c.Blocks[:first]
	counts := takeCensus(t, &short, 1)
	t.Log(counts)
	want := []string{"fee recipient created"}
	for _, f := range families {
		want = append(want, f.has...)
	}
	for _, name := range want {
		if counts[name] == 0 {
			t.Errorf("no %q in the first %d blocks", name, first)
		}
	}
}

func TestSampleIsSmallAndSaysHowItWasMade(t *testing.T) {
	entries, err := os.ReadDir(sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > sampleMaxBytes {
		t.Errorf("%d bytes, want at most %d", size, sampleMaxBytes)
	}
	readme, err := os.ReadFile(filepath.Join(sampleDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("go run ./test/chaingen/cmd/chaingen -family %s -seed %d -blocks %d "+
		"-size %d -out test/chaingen/sample", sampleConfig.Family, sampleConfig.Seed,
		sampleConfig.Blocks, sampleConfig.Size)
	oneLine := strings.ReplaceAll(string(readme), "\\\n", " ")
	if !strings.Contains(strings.Join(strings.Fields(oneLine), " "), command) {
		t.Errorf("README.md does not have the command %q", command)
	}
}
