package s3_test

import (
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*store{
		"public":                   {},
		"private, pages of 3 keys": {private: true, perPage: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skip := map[string]string{}
			if s.private {
				skip["Scope"] = "foreign requests are anonymous"
			}
			fetchtest.Run(t, fetchtest.Harness{Skip: skip, Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s.tree = tree
				s.start(t)
				getenv := variables()
				if s.private {
					getenv = signing()
				}
				return fetchtest.Site{
					Load:  load(s, getenv),
					URL:   func(name string) string { return objectURL(tree, name) },
					Log:   s.Log,
					Fault: s.Fail,
					Can:   func(f fetchtest.Fault) bool { return f == servers.Endless },
				}
			}})
		})
	}
}

// objectURL returns the URL of a file or directory in tree.
func objectURL(tree fs.FS, name string) string {
	url := "s3://bucket"
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
