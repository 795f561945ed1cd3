package fetch_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
)

// The error for a malformed URL contains the URL without its password.
func TestMalformedURLIsNamed(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil)
	for rawURL, want := range map[string]string{
		"a b:c":                   `get a b:c: malformed URL: missing or malformed scheme before the colon`,
		"ftp://joe:secret@h:port": `get ftp://joe:xxxxx@h:port: malformed URL: port is not a number`,
		"a\x1b:":                  `get a\x1b:: malformed URL: missing or malformed scheme before the colon`,
	} {
		if _, err := c.Get(t.Context(), rawURL); err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}
