package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/textproto"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A sentBody is a request body that counts calls of Close.
type sentBody struct {
	io.Reader
	closed *int
}

func (b sentBody) Close() error {
	*b.closed++
	return nil
}

// An inbox is a driver that redirects to a URL in the path ("/see/URL" or "/resend/URL"). It records
// its requests.
type inbox struct{ got []string }

func (b *inbox) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	line := req.Method + " " + req.URL.Host()
	if req.Body != nil {
		content, _ := io.ReadAll(req.Body)
		req.Body.Close()
		line += " " + string(content)
	}
	if t := req.Header.Get("Content-Type"); t != "" {
		line += " as " + t
	}
	b.got = append(b.got, line)
	resp := &fetch.Response{Body: fetch.NoBody}
	how, to, redirects := strings.Cut(strings.TrimPrefix(req.URL.Path(), "/"), "/")
	if redirects {
		resp.Location = []uri.URI{uri.MustParse(to)}
		resp.Resend = how == "resend"
	}
	return resp, nil
}

func (b *inbox) load(_ fetch.Env, reg *fetch.Registry) {
	ops := []fetch.Op{fetch.OpGet, fetch.OpStat}
	target := fetch.Traits{RedirectTarget: true}
	reg.Register(fetch.Scheme{Name: "http", Port: 80, Ops: ops, Bodies: true, ForwardProxy: true, Traits: target, Driver: b})
	reg.Register(fetch.Scheme{Name: "https", Port: 443, Ops: ops, Bodies: true, Traits: target, Driver: b})
	reg.Register(fetch.Scheme{Name: "ftp", Port: 21, Ops: ops, ForwardProxy: true, Traits: target, Driver: b})
}

func TestBodiesAndRedirects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url string
		once      bool // GetBody is nil
		method    string
		want      []string
		code      fetch.Code
	}{
		{name: "no redirect", url: "http://a/", want: []string{" a x=1 as t/x"}},
		{name: "once", url: "http://a/", once: true, want: []string{" a x=1 as t/x"}},
		{name: "method", url: "http://a/", method: "PUT", want: []string{"PUT a x=1 as t/x"}},
		{name: "becomes GET", url: "http://a/see/http://a/", want: []string{" a x=1 as t/x", " a"}},
		{name: "becomes GET elsewhere", url: "http://a/see/http://b/", method: "PUT", once: true, want: []string{"PUT a x=1 as t/x", " b"}},
		{name: "again", url: "http://a/resend/http://a/", method: "PUT", want: []string{"PUT a x=1 as t/x", "PUT a x=1 as t/x"}},
		{name: "again elsewhere", url: "http://a/resend/https://b/", want: []string{" a x=1 as t/x", " b x=1 as t/x"}},
		{name: "again, and then GET", url: "http://a/resend/http://a/see/http://a/", want: []string{" a x=1 as t/x", " a x=1 as t/x", " a"}},
		{name: "again, but it is gone", url: "http://a/resend/http://a/", once: true, want: []string{" a x=1 as t/x"}, code: fetch.ErrRedirect},
		{name: "out of TLS", url: "https://a/resend/http://a/", want: []string{" a x=1 as t/x"}, code: fetch.ErrPolicy},
		{name: "GET out of TLS", url: "https://a/see/http://a/", want: []string{" a x=1 as t/x", " a"}},
		{name: "to what takes none", url: "http://a/resend/ftp://a/", want: []string{" a x=1 as t/x"}, code: fetch.ErrRequest},
		{name: "no bodies", url: "ftp://a/", code: fetch.ErrRequest},
		{name: "no bodies, once", url: "ftp://a/", once: true, code: fetch.ErrRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			box := &inbox{}
			c := fetch.New(&fetch.Options{Proxy: noProxy}, box.load)
			opened, closed := 0, 0
			open := func() (io.ReadCloser, error) {
				opened++
				return sentBody{strings.NewReader("x=1"), &closed}, nil
			}
			req := &fetch.Request{URL: uri.MustParse(tt.url), Method: tt.method, Header: textproto.MIMEHeader{"Content-Type": {"t/x"}}}
			if tt.once {
				req.Body, _ = open()
			} else {
				req.GetBody = open
			}
			resp, err := c.Do(t.Context(), req)
			if err == nil {
				resp.Body.Close()
			}
			if fetch.CodeOf(err) != tt.code {
				t.Errorf("error %v, want class %q", err, tt.code)
			}
			if got := strings.Join(box.got, ", "); got != strings.Join(tt.want, ", ") {
				t.Errorf("got %q, want %q", box.got, tt.want)
			}
			if closed < opened {
				t.Errorf("%d bodies opened, %d closed", opened, closed)
			}
		})
	}
}

func TestBodiesOfUnsupportedRequests(t *testing.T) {
	t.Parallel()
	box := &inbox{}
	c := fetch.New(&fetch.Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.MustParse("http://proxy:80/"), nil }}, box.load)
	body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
	for _, req := range []*fetch.Request{
		{URL: uri.MustParse("http://a/"), Op: fetch.OpStat, GetBody: body},
		{URL: uri.MustParse("http://a/"), Op: fetch.OpStat, Method: "DELETE"},
		{URL: uri.MustParse("ftp://a/"), Method: "DELETE"}, // through an HTTP proxy, which would support it
		{URL: uri.MustParse("ftp://a/"), GetBody: body},
	} {
		if _, err := c.Do(t.Context(), req); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("%v %s: %v", req.Op, req.URL, err)
		}
		if _, err := c.Explain(req); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("explain %v %s: %v", req.Op, req.URL, err)
		}
	}
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("http://a/"), GetBody: body}); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("describe: %v", err)
	}
	if _, err := c.Open(t.Context(), &fetch.Request{URL: uri.MustParse("http://a/"), GetBody: body}); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("open: %v", err)
	}
	broken := &fetch.Request{URL: uri.MustParse("http://a/"), GetBody: func() (io.ReadCloser, error) { return nil, errors.New("no such file") }}
	if _, err := c.Do(t.Context(), broken); fetch.CodeOf(err) != fetch.ErrFile {
		t.Errorf("a body that cannot be opened: %v", err)
	}
	if len(box.got) > 0 {
		t.Errorf("the driver was asked: %q", box.got)
	}
}
