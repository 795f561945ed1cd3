package nfs

import (
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server nfsd.Options
	}{
		{"public", nfsd.Options{Public: "."}},
		{"MOUNT", nfsd.Options{}},
		{"short replies", nfsd.Options{MaxRead: 5000, Batch: 7, Fragment: 1000}},
		{"no READDIRPLUS, no attributes", nfsd.Options{NoPlus: true, NoAttr: true, Quiet: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				tt.server.Tree = tree
				s := nfsd.Start(t, tt.server)
				return fetchtest.Site{
					Load:    With(Options{AnyPort: true}),
					URL:     func(name string) string { return fileURL(s, tree, name) },
					Log:     s.Log,
					Fault:   s.Fail,
					Can:     func(f fetchtest.Fault) bool { return f == servers.Endless },
					Escaped: true, // names are length-prefixed, so they may contain any byte
				}
			}})
		})
	}
}

// fileURL returns the URL of a file or directory in tree.
func fileURL(s *nfsd.Server, tree fs.FS, name string) string {
	url := s.URL
	if name == "." {
		return url + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		url += "/" + uri.Escape(segment)
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		url += "/"
	}
	return url
}
