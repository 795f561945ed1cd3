package z3950

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]z3950d.Options{
		"plain":      {},
		"indefinite": {Indefinite: true, Brief: 3},
		"choosy":     {Syntax: true, NoUse: 1032},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				opts.Tree = tree
				s := z3950d.Start(t, opts)
				return fetchtest.Site{
					Load:  Load,
					URL:   func(name string) string { return treeURL(s.Addr, tree, name) },
					Log:   s.Log,
					Fault: s.Fail,
					Can:   s.Can,
				}
			}})
		})
	}
}

// treeURL returns the URL of a file, or of the search for everything in a directory.
func treeURL(addr string, tree fs.FS, name string) string {
	info, err := fs.Stat(tree, name)
	switch {
	case err == nil && info.IsDir(), err != nil && !strings.Contains(name, "/"):
		return "z39.50s://" + addr + "/" + uri.Escape(name) + "?@attr+2=103+x"
	case err == nil && strings.Count(name, "/") > 1:
		return "" // a database has no directories
	case strings.ContainsAny(name, "\r\n\x00"):
		return "z39.50r://" + addr + "/pub?" + name
	}
	return "z39.50r://" + addr + "/" + uri.Escape(path.Dir(name)) + "?" + uri.Escape(path.Base(name))
}
