package mounted_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/mounted"
)

// TestFallbackToTheMount uses an nfs driver that fails with each error class.
func TestFallbackToTheMount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "home/x"), "mounted")
	mounts := write(t, filepath.Join(dir, "mounts"), fmt.Sprintf("h.example:/export %s/home nfs rw 0 0\n", dir))
	for _, tt := range []struct {
		url  string
		fail fetch.Code
		want string // "" means that the error is returned
	}{
		{"nfs://h.example/export/x", "", "served"},
		{"nfs://h.example/export/x", fetch.ErrNetwork, "mounted"},
		{"nfs://h.example/export/x", fetch.ErrRefused, "mounted"},
		{"nfs://h.example/export/x", fetch.ErrAuth, "mounted"},
		{"nfs://h.example/export/x", fetch.ErrNotFound, ""},
		{"nfs://h.example/export/x", fetch.ErrPolicy, ""},
		{"nfs://h.example/elsewhere/x", fetch.ErrNetwork, ""},
		{"nfs://other.example/export/x", fetch.ErrNetwork, ""},
		{"x-lure://h/", fetch.ErrNetwork, ""},
	} {
		client := func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "nfs", Port: 2049, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
				func(context.Context, *fetch.Request) (*fetch.Response, error) {
					if tt.fail != "" {
						return nil, &fetch.Error{Code: tt.fail, Err: errors.New("so it is")}
					}
					return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: body{strings.NewReader("served")}}, nil
				})})
		}
		redirecting := fetch.Use("x-lure", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Location: []uri.URI{uri.MustParse("nfs://h.example/export/x")}, Body: fetch.NoBody}, nil
		}))
		c := fetch.New(&fetch.Options{Policy: &fetch.Policy{AllowRedirects: []string{"nfs"}}},
			client, file.Load, mounted.With(mounted.Options{Mounts: mounts}), redirecting)
		got, err := drive.Get(t, c, tt.url)
		switch {
		case tt.want != "" && (got != tt.want || err != nil):
			t.Errorf("%s with %q: %q, %v, want %q", tt.url, tt.fail, got, err, tt.want)
		case tt.want == "" && !errors.Is(err, tt.fail):
			t.Errorf("%s: error %v, want one of class %q", tt.url, err, tt.fail)
		}
		c.Close()
	}
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }
