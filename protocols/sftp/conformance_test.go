package sftp

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// password is the password of the test servers.
const password = "pass word"

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server sftpd.Options
	}{
		{name: "password"},
		{name: "dialogue", server: sftpd.Options{Dialogue: true}},
		{name: "short responses", server: sftpd.Options{MaxRead: 8000, Batch: 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := fetchtest.Harness{
				Options: &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: password})},
				Skip:    map[string]string{"Recorded": "the bytes are encrypted, so a recording has lines: TestRecordsHaveLinesAndNoBytes"},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					tt.server.Tree = tree
					tt.server.Users = map[string]string{"tester": password}
					s := sftpd.Start(t, tt.server)
					return fetchtest.Site{
						Load:    With(options(t, s)),
						URL:     func(name string) string { return fileURL(s, tree, name) },
						Log:     s.Log,
						Fault:   s.Fail,
						Can:     func(f fetchtest.Fault) bool { return f == servers.Endless },
						Escaped: true, // names are length-prefixed and may have any bytes
					}
				},
			}
			fetchtest.Run(t, h)
		})
	}
}

// options returns options with the host keys of the servers and without local SSH settings.
func options(t testing.TB, known ...*sftpd.Server) Options {
	t.Helper()
	var lines strings.Builder
	for _, s := range known {
		lines.WriteString(s.KnownHosts())
	}
	return Options{NoAgent: true, NoConfig: true, User: "tester", KnownHosts: []string{file(t, "known_hosts", lines.String())}}
}

// file writes a temporary file, which is removed after the test.
func file(t testing.TB, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// fileURL returns the URL of a file or directory in tree.
func fileURL(s *sftpd.Server, tree fs.FS, name string) string {
	root := "sftp://tester@" + s.Addr
	if name == "." {
		return root + "/"
	}
	for segment := range strings.SplitSeq(name, "/") {
		root += "/" + uri.Escape(segment)
	}
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		root += "/"
	}
	return root
}
