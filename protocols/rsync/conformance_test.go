package rsync

import (
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// password is the password of the test servers.
const password = "pass wörd"

func TestConformance(t *testing.T) {
	t.Parallel()
	users := map[string]string{"tester": password}
	for _, tt := range []struct {
		name   string
		server rsyncd.Options
	}{
		{"31", rsyncd.Options{Message: "Welcome"}},
		{"31, with a login", rsyncd.Options{Users: users, Digests: []string{"sha256", "md5"}}},
		{"30", rsyncd.Options{Protocol: 30, Users: users}},
		{"29", rsyncd.Options{Protocol: 29, Users: users}},
		{"28", rsyncd.Options{Protocol: 28}},
		{"27", rsyncd.Options{Protocol: 27}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: password})},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					tt.server.Tree = tree
					s := rsyncd.Start(t, tt.server)
					return fetchtest.Site{
						Load:  Load,
						URL:   func(name string) string { return fileURL(s, tree, name) },
						Log:   s.Log,
						Fault: s.Fail,
						Can:   func(f fetchtest.Fault) bool { return f == servers.Endless },
					}
				},
			})
		})
	}
}

// fileURL returns the URL of a file or directory in tree.
func fileURL(s *rsyncd.Server, tree fs.FS, name string) string {
	url := "rsync://tester@" + s.Addr + "/files"
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
