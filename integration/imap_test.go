//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/imap"
)

// imapHarness returns a harness for a port of an IMAP server, with messages as files and mailboxes
// of users as directories. The server numbers messages in the order in which it finds their files.
func imapHarness(port, scheme string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Options: labOptions(),
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				dir := lab.TempDir(t)
				writeMail(t, dir, tree)
				s := lab.StartRoot(t, server, dir)
				inbox := func(user string) string {
					return scheme + "://" + user + ":" + lab.Password + "@" + s.Addr(port) + "/INBOX"
				}
				uids := make(map[string]string)
				c := fetch.New(labOptions(), imap.Load)
				defer c.Close()
				boxes, err := os.ReadDir(filepath.Join(dir, lab.MailDir))
				if err != nil {
					t.Fatal(err)
				}
				for _, box := range boxes {
					for _, e := range drive.MustList(t, c, inbox(box.Name())) {
						uids[box.Name()+"/"+e.Name] = strconv.Itoa(int(e.Sys.(imap.Message).UID))
					}
				}
				return fetchtest.Site{
					Load: imap.Load,
					URL: func(name string) string {
						info, err := fs.Stat(tree, name)
						switch {
						case err == nil && info.IsDir() && name != "." && !strings.Contains(name, "/"):
							return inbox(name)
						case err == nil && (info.IsDir() || strings.Count(name, "/") != 1), err != nil && !strings.Contains(name, "/"):
							return ""
						case strings.ContainsAny(name, "\r\n\x00"):
							return inbox("pub") + url.PathEscape(name)
						case err != nil:
							return inbox("pub") + "/;UID=9999"
						}
						return inbox(path.Dir(name)) + "/;UID=" + uids[path.Dir(name)+"/"+mailFile(name)]
					},
					Want: func(name string, content []byte) []byte {
						return bytes.ReplaceAll(mailText(name, content), []byte("\n"), []byte("\r\n"))
					},
				}
			},
		}
	}
}

func TestDovecotIMAP(t *testing.T) {
	s := lab.Start(t, "dovecot")
	o := labOptions()
	var user, password = s.User, s.Password
	o.Credentials = fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > 1 {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: user, Password: password}, nil
	})
	c := fetch.New(o, imap.Load)
	defer c.Close()
	base := "imap://" + s.Addr("imap")
	list := func(url string) (names []string) {
		for e, err := range c.List(t.Context(), url) {
			if err != nil {
				t.Errorf("%s: %v", url, err)
			}
			names = append(names, e.Name)
		}
		return names
	}
	get := func(url string) string {
		resp, err := c.Get(t.Context(), url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			return ""
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		return string(got)
	}
	if got := list(base); !slices.Contains(got, "INBOX") {
		t.Errorf("mailboxes %q", got)
	}
	if got := list(base + "/INBOX"); len(got) != len(lab.Articles()) || !slices.Contains(got, "Grüße") {
		t.Errorf("messages %q", got)
	}
	if got := list(base + "/INBOX?SUBJECT%20%22Gr%C3%BC%C3%9Fe%22"); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	if got := list(base + "/INBOX?SUBJECT%20%22parts%22"); len(got) != 1 || got[0] != "An article in parts" {
		t.Errorf("found %q", got)
	}
	for _, e := range drive.MustList(t, c, base+"/INBOX?SUBJECT%20%22parts%22") {
		if got := get(e.URL.String() + "/;SECTION=2"); got != "AAECA/79/P8=" && got != "AAECA/79/P8=\r\n" {
			t.Errorf("the second part is %q", got)
		}
		if got := get(e.URL.String() + "/;SECTION=HEADER.FIELDS%20(SUBJECT)/;PARTIAL=0.7"); got != "Subject" {
			t.Errorf("the beginning of the subject is %q", got)
		}
	}
	c.Close()
	password = "wrong"
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(base + "/INBOX")}); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("a wrong password: %v", err)
	}
}
