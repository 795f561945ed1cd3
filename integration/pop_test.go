//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/pop"
)

// mailFile returns the file name of a message.
func mailFile(name string) string {
	return hex.EncodeToString([]byte(path.Base(name)))[:min(100, 2*len(path.Base(name)))] + ".eml"
}

// writeMail writes a tree as mail: each file is a message to the user with the name of its
// directory.
func writeMail(t testing.TB, dir string, tree fs.FS) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Count(name, "/") != 1 {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		box := filepath.Join(dir, lab.MailDir, path.Dir(name))
		if err := os.MkdirAll(box, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(box, mailFile(name)), mailText(name, content), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mailText returns a file as a message with LF.
func mailText(name string, content []byte) []byte {
	text := "From: tree@lab.invalid\nSubject: " + mailFile(name) + "\n\n" + string(content)
	return []byte(strings.TrimSuffix(text, "\n") + "\n") // messages consist of lines
}

// popHarness returns a harness for a port of a POP3 server, with messages as files and maildrops as
// directories.
func popHarness(port, scheme string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{
			Options: labOptions(),
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				dir := lab.TempDir(t)
				writeMail(t, dir, tree)
				s := lab.StartRoot(t, server, dir)
				return fetchtest.Site{
					Load: pop.Load,
					URL: func(name string) string {
						maildrop := func(user string) string {
							return scheme + "://" + user + ":" + lab.Password + "@" + s.Addr(port) + "/"
						}
						info, err := fs.Stat(tree, name)
						switch {
						case err == nil && info.IsDir() && name != "." && !strings.Contains(name, "/"):
							return maildrop(name)
						case err == nil && (info.IsDir() || strings.Count(name, "/") != 1), err != nil && !strings.Contains(name, "/"):
							return ""
						case strings.ContainsAny(name, "\r\n\x00"):
							return maildrop("pub") + ";UID=" + url.PathEscape(name)
						}
						return maildrop(path.Dir(name)) + ";UID=" + mailFile(name)
					},
					Want: func(name string, content []byte) []byte {
						return bytes.ReplaceAll(mailText(name, content), []byte("\n"), []byte("\r\n"))
					},
				}
			},
		}
	}
}

// labOptions returns options that trust the lab's CA.
func labOptions() *fetch.Options {
	return &fetch.Options{TLS: &tls.Config{RootCAs: lab.CA()}}
}

func TestDovecotPOP3(t *testing.T) {
	s := lab.Start(t, "dovecot")
	o := labOptions()
	var user, password = s.User, s.Password
	o.Credentials = fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > 1 {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: user, Password: password}, nil
	})
	c := fetch.New(o, pop.Load)
	defer c.Close()
	for scheme, base := range map[string]string{"pop": "pop://" + s.Addr("pop"), "pops": "pops://" + s.Addr("pops")} {
		n := 0
		for _, e := range drive.MustList(t, c, base) {
			n++
			resp, err := c.Get(t.Context(), e.URL.String())
			if err != nil {
				t.Errorf("%s: %v", e.URL, err)
				continue
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			file, _ := os.ReadFile(filepath.Join(s.Root, lab.NewsDir, e.Name))
			if want := bytes.ReplaceAll(file, []byte("\n"), []byte("\r\n")); err != nil || !bytes.Equal(got, want) || e.Size != int64(len(want)) {
				t.Errorf("%s: %d bytes, %v; want %d, the listing says %d", e.URL, len(got), err, len(want), e.Size)
			}
		}
		if n != len(lab.Articles()) {
			t.Errorf("%s: %d messages, want %d", scheme, n, len(lab.Articles()))
		}
	}
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("pop://" + s.Addr("pop") + "/1")})
	if err != nil || meta.Header.Get("Subject") != "A plain article" || meta.ETag != "001.eml" {
		t.Errorf("%+v, %v", meta, err)
	}
	c.Close()
	password = "wrong"
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("pop://" + s.Addr("pop") + "/1")}); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("a wrong password: %v", err)
	}
}
