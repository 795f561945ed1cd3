package fetchtest

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// RunExplain compares the steps that a driver reports for URLs with a table. Keys are URLs, values
// are the steps joined by "; ". For a value of "", Explain must return an error of class
// [fetch.ErrURL].
func RunExplain(t testing.TB, c *fetch.Client, steps map[string]string) {
	t.Helper()
	for url, want := range steps {
		u, err := uri.ParseRef(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		x, err := c.Explain(&fetch.Request{URL: u})
		switch {
		case want == "" && fetch.CodeOf(err) != fetch.ErrURL:
			t.Errorf("%s: error %v, want one of class %q", url, err, fetch.ErrURL)
		case want != "" && (err != nil || strings.Join(x.Steps, "; ") != want):
			t.Errorf("%s: steps %q, %v, want %q", url, x.Steps, err, want)
		}
	}
}
