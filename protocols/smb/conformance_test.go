package smb

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
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/internal/codec/smb2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// password is the password of the test servers.
const password = "pass wörd"

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server smbd.Options
	}{
		{name: "3.1.1"},
		{name: "3.1.1 with CMAC", server: smbd.Options{CMAC: true, Pending: true}},
		{name: "3.0", server: smbd.Options{Dialect: smb2.Dialect300, Batch: 9}},
		{name: "3.0.2, encrypted share", server: smbd.Options{Dialect: smb2.Dialect302, Cipher: smb2.CipherAES128CCM, EncryptShare: true}},
		{name: "3.1.1, encrypted session", server: smbd.Options{Cipher: smb2.CipherAES256GCM, EncryptSession: true, Pending: true}},
		{name: "2.1, few credits", server: smbd.Options{Dialect: smb2.Dialect210, Credits: 3}},
		{name: "2.0.2, short responses", server: smbd.Options{Dialect: smb2.Dialect202, MaxRead: 8000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: password})},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					tt.server.Tree = tree
					tt.server.Users = map[string]string{"tester": password}
					s := smbd.Start(t, tt.server)
					return fetchtest.Site{
						Load: Load,
						URL: func(name string) string {
							if strings.Contains(name, `\`) {
								return "" // a separator of names in SMB
							}
							return fileURL(s, tree, name)
						},
						Log:     s.Log,
						Fault:   s.Fail,
						Can:     func(f fetchtest.Fault) bool { return f == servers.Endless },
						Escaped: true, // names are length-prefixed and may have any characters
					}
				},
			})
		})
	}
}

// fileURL returns the URL of a file or directory in tree.
func fileURL(s *smbd.Server, tree fs.FS, name string) string {
	root := "smb://tester@" + s.Addr + "/share"
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
