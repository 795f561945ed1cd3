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
	if !IsLong() {
		t.Skip("skipped without " + longVariable + "=1: takes long")
	}
}

// IsLong reports whether long tests are enabled; see [Long].
func IsLong() bool { return os.Getenv(longVariable) != "" }
