package pop

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/popd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// treeUID returns the unique-id of a file. It keeps names with CR, LF or NUL, which the client must
// refuse.
func treeUID(name string) string {
	if strings.ContainsAny(name, "\r\n\x00") {
		return name
	}
	return hex.EncodeToString([]byte(path.Base(name)))
}

// treeMessage returns a message with the content of a file. Its lines end with LF.
func treeMessage(name string, content []byte) string {
	return "From: tree@x.invalid\nSubject: " + hex.EncodeToString([]byte(path.Base(name))) + "\n\n" + string(content)
}

// maildrops returns one maildrop for each directory of a tree. The directory is the user name.
func maildrops(t testing.TB, tree fs.FS) map[string][]popd.Message {
	drops := make(map[string][]popd.Message)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		dir := path.Dir(name)
		drops[dir] = append(drops[dir], popd.Message{UID: treeUID(name), Text: treeMessage(name, content)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return drops
}

func TestConformance(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	for _, tt := range []struct {
		name, scheme string
		server       popd.Options
		client       Options
	}{
		{"plaintext", "pop", popd.Options{}, Options{AllowPlaintext: true}},
		{"TLS", "pops", popd.Options{TLS: serverTLS, Implicit: true, SASL: true}, Options{}},
		{"STLS", "pop3", popd.Options{TLS: serverTLS, NeedTLS: true}, Options{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: &fetch.Options{TLS: clientTLS},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					tt.server.Maildrops = maildrops(t, tree)
					s := popd.Start(t, tt.server)
					return fetchtest.Site{
						Load: With(tt.client),
						URL:  func(name string) string { return treeURL(tt.scheme, s.Addr, tree, name) },
						Want: func(name string, content []byte) []byte {
							text := strings.TrimSuffix(treeMessage(name, content), "\n") + "\n"
							return bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\r\n"))
						},
						Log:   s.Log,
						Fault: s.Fail,
						Can:   s.Can,
					}
				},
			})
		})
	}
}

// treeURL returns the URL of a file or directory.
func treeURL(scheme, addr string, tree fs.FS, name string) string {
	maildrop := func(dir string) string { return scheme + "://" + url.PathEscape(dir) + ":p@" + addr + "/" }
	info, err := fs.Stat(tree, name)
	switch {
	case err == nil && info.IsDir() && strings.Contains(name, "/"):
		return "" // a maildrop has no subdirectories
	case err == nil && info.IsDir():
		return maildrop(name)
	case err != nil && !strings.Contains(name, "/"):
		return "" // every user who can log in has a maildrop
	case name == "octets.bin":
		return "" // POP3 cannot transfer a bare CR or LF
	case err == nil && strings.Count(name, "/") > 1:
		return ""
	}
	return maildrop(path.Dir(name)) + ";UID=" + url.PathEscape(treeUID(name))
}
