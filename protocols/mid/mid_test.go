package mid_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nntp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	plain   = "From: a@x\nMessage-ID: <plain@x>\nDate: Sat, 29 Feb 2020 12:34:56 +0000\n\nhello\n"
	related = "From: a@x\nMessage-ID: <related@x>\nContent-Type: multipart/related; boundary=b\n\n" +
		"--b\nContent-Type: text/html\n\n<img src=\"cid:pic@x\">\n" +
		"--b\nContent-Type: image/png; name=x\nContent-ID: <pic@x>\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n--b--\n"
	fromLine = "From a@x Sat Jan  1 00:00:00 2000\n"
)

// setUp returns a client with a mailbox and a news server.
func setUp(t *testing.T, server string) (*fetch.Client, string) {
	t.Helper()
	dir := t.TempDir()
	mbox := filepath.Join(dir, "mbox")
	if err := os.WriteFile(mbox, []byte(fromLine+plain+"\n"+fromLine+related), 0o600); err != nil {
		t.Fatal(err)
	}
	c := drive.Client(t, nil, mid.With(mid.Options{Mailboxes: []string{mbox}, CacheDir: filepath.Join(dir, "cache")}),
		nntp.With(nntp.Options{Server: server}))
	return c, mbox
}

func newsServer(t *testing.T) *servers.Server {
	return nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "g", Articles: []nntpd.Article{
		{ID: "<news@x>", Text: strings.ReplaceAll(related, "related@x", "news@x")},
	}}}})
}

func do(t *testing.T, c *fetch.Client, url, from string) (string, *fetch.Response, error) {
	t.Helper()
	req := &fetch.Request{URL: parse(t, url)}
	if from != "" {
		req.From = parse(t, from)
	}
	return drive.Do(t, c, req)
}

func parse(t *testing.T, s string) uri.URI {
	t.Helper()
	u, err := uri.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestMessagesAndParts(t *testing.T) {
	t.Parallel()
	s := newsServer(t)
	c, _ := setUp(t, s.Addr)
	crlf := strings.NewReplacer("\n", "\r\n")
	newsText := crlf.Replace(strings.ReplaceAll(related, "related@x", "news@x"))
	for _, tt := range []struct{ url, from, want, kind string }{
		{"mid:plain@x", "", plain, "message/rfc822"},
		{"mid:related@x", "", related, "message/rfc822"},
		{"mid:related@x/pic@x", "", "hello", "image/png; name=x"},
		{"cid:pic@x", "", "hello", "image/png; name=x"},
		{"cid:pic@x", "mid:related@x", "hello", "image/png; name=x"},
		{"cid:pic@x", "mid:related@x/pic@x", "hello", "image/png; name=x"},
		{"cid:pic@x", "news://" + s.Addr + "/news@x", "hello", "image/png; name=x"},
		{"mid:news@x", "", newsText, "message/rfc822"},
		{"mid:news@x/pic@x", "", "hello", "image/png; name=x"},
	} {
		body, resp, err := do(t, c, tt.url, tt.from)
		if err != nil {
			t.Errorf("%s from %q: %v", tt.url, tt.from, err)
			continue
		}
		if body != tt.want || resp.ContentType != tt.kind || resp.URL.String() != tt.url {
			t.Errorf("%s from %q: got %q, %+v", tt.url, tt.from, body, resp.Meta)
		}
	}
	m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("mid:plain@x")})
	if err != nil || m.Size != int64(len(plain)) || m.ETag != "<plain@x>" || m.ModTime.Year() != 2020 {
		t.Errorf("stat: %+v, %v", m, err)
	}
	if m, err = c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("mid:news@x/pic@x")}); err != nil || m.ContentType != "image/png; name=x" {
		t.Errorf("stat: %+v, %v", m, err)
	}
}

func TestNotFoundNamesMailboxes(t *testing.T) {
	t.Setenv("NNTPSERVER", "")
	s := newsServer(t)
	with, mbox := setUp(t, s.Addr)
	for _, tt := range []struct{ url, from, want string }{
		{"mid:none@x", "", "news server"},
		{"mid:related@x/none@x", "", "part <none@x>"},
		{"cid:none@x", "", mbox},
		{"cid:none@x", "mid:related@x", "part <none@x>"},
		{"mid:none@x", "", mbox},
		{"mid:g", "", mbox}, // the news server has a group of this name, but no such article
	} {
		_, _, err := do(t, with, tt.url, tt.from)
		if !errors.Is(err, fetch.ErrNotFound) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.url, err)
		}
	}
	without, mbox := setUp(t, "")
	if _, _, err := do(t, without, "mid:none@x", ""); !errors.Is(err, fetch.ErrNotFound) ||
		!strings.Contains(err.Error(), mbox) {
		t.Errorf("without a news server: %v", err)
	}
}

func TestForeignRequestsCannotReadMail(t *testing.T) {
	t.Parallel()
	s := newsServer(t)
	c, _ := setUp(t, s.Addr)
	article := "news://" + s.Addr + "/news@x"
	if _, _, err := do(t, c, "mid:plain@x", article); !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("mid from news: %v", err)
	}
	// The identifier is in the mailbox, but not in the article.
	if _, _, err := do(t, c, "cid:other@x", article); !errors.Is(err, fetch.ErrNotFound) {
		t.Errorf("cid from news: %v", err)
	}
	if _, _, err := do(t, c, "cid:pic@x", "news://"+s.Addr+"/g"); !errors.Is(err, fetch.ErrNotRetrievable) {
		t.Errorf("cid from a group: %v", err)
	}
}

// TestUntrustedRequestsCannotReadMail makes requests of a queue, without From or with one that the
// author chose.
func TestUntrustedRequestsCannotReadMail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mbox := filepath.Join(dir, "mbox")
	if err := os.WriteFile(mbox, []byte(fromLine+related), 0o600); err != nil {
		t.Fatal(err)
	}
	c := drive.Client(t, &fetch.Options{Policy: &fetch.Policy{Untrusted: true}},
		mid.With(mid.Options{Mailboxes: []string{mbox}, CacheDir: filepath.Join(dir, "cache")}), nntp.Load)
	for _, tt := range []struct{ url, from string }{
		{"cid:pic@x", ""},
		{"cid:none@x", ""},
		{"cid:pic@x", "mid:related@x"},
		{"mid:related@x", ""},
		{"mid:related@x", "mid:related@x"},
		{"mid:none@x/pic@x", ""},
	} {
		body, _, err := do(t, c, tt.url, tt.from)
		if !errors.Is(err, fetch.ErrPolicy) || strings.Contains(err.Error(), dir) || body != "" {
			t.Errorf("%s from %q: %q, %v", tt.url, tt.from, body, err)
		}
	}
}
