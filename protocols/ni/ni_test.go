package ni

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hello is the name of "Hello World!" in RFC 6920, section 8.1.
const hello = "ni://example.com/sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"

// web serves pages over https.
func web(pages map[string]string) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "https", Port: 443, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat},
			Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				text, ok := pages[req.URL.String()]
				if !ok {
					return nil, &fetch.Error{Code: fetch.ErrNotFound}
				}
				return &fetch.Response{URL: req.URL, Meta: fetch.Meta{Size: -1, ContentType: "text/plain"}, Body: io.NopCloser(strings.NewReader(text))}, nil
			})})
	}
}

func TestDigestMismatch(t *testing.T) {
	t.Parallel()
	const place = "https://example.com/.well-known/ni/"
	for name, tt := range map[string]struct {
		url, at, text, want string
		code                fetch.Code
	}{
		"whole":            {url: hello, at: place + "sha-256/f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", text: "Hello World!", want: "text/plain"},
		"its beginning":    {url: "ni://example.com/sha-256-32;f4OxZQ", at: place + "sha-256-32/f4OxZQ", text: "Hello World!", want: "text/plain"},
		"with a type":      {url: hello + "?ct=image/png", at: place + "sha-256/f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?ct=image/png", text: "Hello World!", want: "image/png"},
		"an odd type":      {url: hello + "?ct=image/png%0D%0AX:y", at: place + "sha-256/f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?ct=image/png%0D%0AX:y", text: "Hello World!", want: "text/plain"},
		"a port":           {url: "ni://example.com:8443/sha-256-32;f4OxZQ", at: "https://example.com:8443/.well-known/ni/sha-256-32/f4OxZQ", text: "Hello World!", want: "text/plain"},
		"something else":   {url: hello, at: place + "sha-256/f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", text: "Hello World?", code: fetch.ErrProtocol},
		"nothing":          {url: hello, at: place + "sha-256/f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", code: fetch.ErrProtocol},
		"not there":        {url: hello, code: fetch.ErrNotFound},
		"no authority":     {url: "ni:///sha-256-32;f4OxZQ", code: fetch.ErrNotRetrievable},
		"no digest":        {url: "ni://h/sha-256", code: fetch.ErrURL},
		"too short":        {url: "ni://h/sha-256;f4OxZQ", code: fetch.ErrURL},
		"another encoding": {url: "ni://h/sha-256-32;f4OxZR", code: fetch.ErrURL},
		"another digest":   {url: "ni://h/md5;f4OxZQ", code: fetch.ErrURL},
		"a line":           {url: "ni://h/sha-256-32;f4Ox%0AZQ", code: fetch.ErrURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, Load, web(map[string]string{tt.at: tt.text}))
			resp, err := c.Get(t.Context(), tt.url)
			if err == nil {
				defer resp.Body.Close()
				var text []byte
				text, err = io.ReadAll(resp.Body)
				if string(text) != tt.text || err == nil && resp.ContentType != tt.want {
					t.Errorf("%q of type %q", text, resp.ContentType)
				}
			}
			if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Errorf("%v, want class %q", err, tt.code)
			}
		})
	}
}

func TestStatAndList(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load, web(map[string]string{"https://example.com/.well-known/ni/sha-256-32/f4OxZQ": "Hello World!"}))
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("ni://example.com/sha-256-32;f4OxZQ")})
	if err != nil || meta.ETag != "7f83b165" {
		t.Errorf("%+v, %v", meta, err)
	}
	for _, err := range c.List(t.Context(), "ni://example.com/sha-256-32;f4OxZQ") {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v", err)
		}
	}
	e, err := c.Explain(&fetch.Request{URL: uri.MustParse(hello)})
	if err != nil || len(e.Steps) != 2 || !strings.Contains(e.Steps[0], "https://example.com/.well-known/ni/sha-256/f4OxZ") {
		t.Errorf("%+v, %v", e, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(hello)
	f.Add("ni://h/sha-256-32;f4OxZQ?ct=%0A")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := uri.Parse(s)
		if err != nil {
			return
		}
		n, err := parse(u)
		if err == nil && (len(n.digest) < 4 || n.location.Scheme() != "https" || n.location.Host() != u.Host()) {
			t.Errorf("%s: %+v", s, n)
		}
	})
}
