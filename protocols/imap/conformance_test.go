package imap

import (
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mailboxes returns one mailbox for each directory of a tree, and the UIDs of the files.
func mailboxes(t testing.TB, tree fs.FS) (boxes map[string][]imapd.Message, uids map[string]int) {
	boxes, uids = make(map[string][]imapd.Message), make(map[string]int)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		box := path.Dir(name)
		if box == "." {
			box = "top"
		}
		boxes[box] = append(boxes[box], imapd.Message{Text: content})
		uids[name] = len(boxes[box])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return boxes, uids
}

func TestConformance(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	for _, tt := range []struct {
		name, scheme string
		server       imapd.Options
		client       Options
	}{
		{"plaintext", "imap", imapd.Options{}, Options{AllowPlaintext: true}},
		{"TLS", "imaps", imapd.Options{TLS: serverTLS, Implicit: true, SASL: true}, Options{}},
		{"STARTTLS", "imap", imapd.Options{TLS: serverTLS, NeedTLS: true}, Options{StartTLS: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{
				Options: &fetch.Options{TLS: clientTLS},
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					var uids map[string]int
					tt.server.Mailboxes, uids = mailboxes(t, tree)
					s := imapd.Start(t, tt.server)
					base := tt.scheme + "://joe:secret@" + s.Addr + "/"
					return fetchtest.Site{
						Load: With(tt.client),
						URL: func(name string) string {
							info, err := fs.Stat(tree, name)
							switch {
							case err == nil && info.IsDir() && strings.Contains(name, "/"):
								return "" // the server lists mailboxes, not their parents
							case name == ".":
								return base
							case err == nil && info.IsDir(), err != nil && !strings.Contains(path.Base(name), "."):
								return base + url.PathEscape(name)
							case err == nil && strings.Count(name, "/") > 1:
								return ""
							case strings.ContainsAny(name, "\r\n\x00"):
								return base + url.PathEscape(name)
							case err != nil:
								return base + url.PathEscape(path.Dir(name)) + "/;UID=99"
							}
							box := path.Dir(name)
							if box == "." {
								box = "top"
							}
							return base + url.PathEscape(box) + "/;UID=" + strconv.Itoa(uids[name])
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
