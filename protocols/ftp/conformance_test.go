package ftp

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server ftpd.Options
		client Options
		skip   map[string]string
	}{
		{name: "defaults"},
		{name: "active", client: Options{Active: true},
			skip: map[string]string{"Dialer": "the server makes the data connections"}},
		{name: "old server", server: ftpd.Options{Unknown: []string{"FEAT", "MLSD", "EPSV", "EPRT"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{Skip: tt.skip, Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				tt.server.Tree = tree
				s := ftpd.Start(t, tt.server)
				return site(s, tree, "ftp://"+s.Addr, tt.client)
			}})
		})
	}
}

// site describes the server to the suite.
func site(s *ftpd.Server, tree fs.FS, root string, opts Options) fetchtest.Site {
	return fetchtest.Site{
		Load:  With(opts),
		URL:   func(name string) string { return fileURL(root, tree, name) },
		Log:   s.Log,
		Fault: s.Fail,
		Can:   s.Can,
	}
}

// fileURL returns the URL of a file or directory in tree.
func fileURL(root string, tree fs.FS, name string) string {
	if name == "." {
		return root + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		root += "/" + strings.ReplaceAll(uri.Escape(segment), "*", "%2A")
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		root += "/"
	}
	return root
}
