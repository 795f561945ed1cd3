//go:build unix

package capture

import (
	"context"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Archives of exchanges that required a login are readable only by their owner.
func TestArchivesWithLoginsAreRestricted(t *testing.T) {
	t.Parallel()
	body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("password=x")), nil }
	for name, tt := range map[string]struct {
		req     fetch.Request
		private bool
	}{
		"nothing":             {fetch.Request{URL: uri.MustParse("http://h/?token=x")}, false},
		"a user name":         {fetch.Request{URL: uri.MustParse("ftp://u@h/")}, false},
		"another field":       {fetch.Request{URL: uri.MustParse("http://h/"), Header: textproto.MIMEHeader{"X-Tag": {"x"}}}, false},
		"a password":          {fetch.Request{URL: uri.MustParse("ftp://u:p@h/")}, true},
		"a key":               {fetch.Request{URL: uri.MustParse("sftp://u@h/")}, true},
		"an API key":          {fetch.Request{URL: uri.MustParse("http://h/"), Header: textproto.MIMEHeader{"X-Api-Key": {"x"}}}, true},
		"a form":              {fetch.Request{URL: uri.MustParse("gopher://h/"), Form: map[string][]string{"Name": {"x"}}}, true},
		"a body":              {fetch.Request{URL: uri.MustParse("http://h/"), Body: io.NopCloser(strings.NewReader("password=x"))}, true},
		"a body from GetBody": {fetch.Request{URL: uri.MustParse("http://h/"), GetBody: body}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, err := warc.Create(filepath.Join(dir, "a"), warc.WriterOptions{Index: true, MaxSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			c := New(w, nil, func(err error) { t.Error(err) })
			before := modes(t, dir)
			client := fetch.New(&fetch.Options{Recorder: c}, func(_ fetch.Env, reg *fetch.Registry) {
				for _, name := range []string{"http", "ftp", "gopher", "sftp"} {
					reg.Register(fetch.Scheme{Name: name, Ops: []fetch.Op{fetch.OpGet}, Bodies: true,
						Traits: fetch.Traits{Logins: name == "sftp"}, Driver: fetch.DriverFunc(refuse)})
				}
			})
			t.Cleanup(func() { client.Close() })
			if _, err := client.Do(t.Context(), &tt.req); fetch.CodeOf(err) != fetch.ErrRefused {
				t.Errorf("error %v, want that of the driver", err)
			}
			exchange("http://h.example/a", sent(get), received("HTTP/1.1 200 OK\r\n\r\nx"), ended(nil))(c)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for file, mode := range modes(t, dir) {
				if otherBits := before["a.cdxj"] & 0o077; mode&0o077 != otherBits && !tt.private || mode&0o077 != 0 && tt.private {
					t.Errorf("%s has mode %o", file, mode)
				}
			}
			if n := len(modes(t, dir)); n < 3 {
				t.Errorf("%d files, want at least 3", n)
			}
		})
	}
}

func refuse(context.Context, *fetch.Request) (*fetch.Response, error) {
	return nil, fetch.ErrRefused
}

func modes(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]os.FileMode{}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.Mode().Perm()
	}
	return all
}
