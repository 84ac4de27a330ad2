package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// EnvTestdata is the environment variable that names the folder of the test data.
const EnvTestdata = "BALSA_TESTDATA"

// Dir returns the folder of the test data, and skips the test where there is none.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(EnvTestdata)
	if dir == "" {
		t.Skipf("%s is not set: it names the folder of test data that this test needs", EnvTestdata)
	}
	return dir
}

// File returns one file of the test data by its path below Dir.
func File(t testing.TB, elem ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(t), filepath.Join(elem...)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
