package fetchtest

import (
	"os"
	"testing"
)

// longVariable is the environment variable that enables long tests.
const longVariable = "URLGET_LONG"

// Long skips a test that transfers or computes much, unless the environment variable URLGET_LONG is
// set.
func Long(t testing.TB) {
	t.Helper()
	if !isLong() {
		t.Skip("skipped without " + longVariable + "=1: takes long")
	}
}

func isLong() bool { return os.Getenv(longVariable) != "" }
