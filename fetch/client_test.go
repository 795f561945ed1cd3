package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestStatFallsBackToGet(t *testing.T) {
	t.Parallel()
	for _, canStat := range []bool{true, false} {
		var ops []fetch.Op
		declared := []fetch.Op{fetch.OpGet, fetch.OpStat} // some resources of the scheme may not support it
		body := &writerToBody{Reader: strings.NewReader("12345")}
		c := fetch.New(nil, load("x", declared, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			ops = append(ops, req.Op)
			if req.Op == fetch.OpStat && !canStat {
				return nil, errors.ErrUnsupported
			}
			return &fetch.Response{Meta: fetch.Meta{Size: 5}, Body: body}, nil
		}))
		meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("x:y")})
		if err != nil || meta.Size != 5 {
			t.Errorf("Stat: %+v, %v", meta, err)
		}
		if want := map[bool]int{true: 1, false: 2}[canStat]; len(ops) != want || body.closed == 0 {
			t.Errorf("operations %v, body closed %d times", ops, body.closed)
		}
	}
}

// Drivers that do not declare OpStat do not receive it.
func TestStatWithoutOpStat(t *testing.T) {
	t.Parallel()
	body := &writerToBody{Reader: strings.NewReader("12345")}
	c := fetch.New(nil, load("x", []fetch.Op{fetch.OpGet}, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		if req.Op != fetch.OpGet {
			t.Errorf("asked to %s", req.Op)
		}
		return &fetch.Response{Meta: fetch.Meta{Size: 5}, Body: body}, nil
	}))
	if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("x:y")}); err != nil || meta.Size != 5 || body.closed == 0 {
		t.Errorf("Stat: %+v, %v, body closed %d times", meta, err, body.closed)
	}
}

// load returns a Loader for a scheme that supports ops.
func load(scheme string, ops []fetch.Op, open fetch.DriverFunc) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: scheme, Ops: ops, Driver: open})
	}
}

func TestStatBodySizeIsNotChecked(t *testing.T) {
	t.Parallel()
	resp, err := bodyClient(5, 3, io.NopCloser(strings.NewReader(""))).Do(t.Context(), &fetch.Request{URL: uri.MustParse("x:y"), Op: fetch.OpStat})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); len(b) != 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestInvalidURLErrors(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil)
	for _, tt := range []struct{ in, want string }{
		{"a b:c", "get a b:c: malformed URL: missing or malformed scheme before the colon"},
		{"http://u:secret@h:x/", "get http://u:xxxxx@h:x/: malformed URL: port is not a number"},
		{"http://h/\x1b[2J\n", `get http://h/\x1b[2J\n: malformed URL: control character must be encoded`},
	} {
		_, err := c.Get(t.Context(), tt.in)
		if !errors.Is(err, fetch.ErrURL) || err.Error() != tt.want {
			t.Errorf("%q: got %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestListOfADocument(t *testing.T) {
	t.Parallel()
	c := bodyClient(-1, 0, io.NopCloser(strings.NewReader("")))
	n := 0
	for _, err := range c.List(t.Context(), "x:y") {
		n++
		if fetch.CodeOf(err) != fetch.ErrNotRetrievable || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d entries, want one error", n)
	}
}

func TestDialReturnsSessionAndLogin(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	var body io.ReadCloser = near
	c := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-term", Ops: []fetch.Op{fetch.OpDial}, Driver: fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1, ContentType: "x/y"}, Body: body}, nil
			})})
	})
	s, err := c.Dial(t.Context(), "x-term://guest:pass@h/")
	if err != nil {
		t.Fatal(err)
	}
	if s.User != "guest" || s.Password != "pass" || s.Meta.ContentType != "x/y" {
		t.Errorf("session %+v", s)
	}
	go io.WriteString(s, "ls")
	got := make([]byte, 2)
	if _, err := io.ReadFull(far, got); string(got) != "ls" || err != nil {
		t.Errorf("the other side got %q, %v", got, err)
	}
	s.Close()

	body = io.NopCloser(strings.NewReader("one way only"))
	if _, err := c.Dial(t.Context(), "x-term://h/"); fetch.CodeOf(err) != fetch.ErrProtocol {
		t.Errorf("a session that cannot be written to: %v", err)
	}
}

// An idler counts calls of CloseIdleConnections.
type idler struct {
	fetch.DriverFunc
	calls *int
}

func (i idler) CloseIdleConnections() { *i.calls++ }

func TestCloseClosesIdleConnections(t *testing.T) {
	t.Parallel()
	calls := 0
	c := fetch.New(nil, fetch.Use("x", idler{nop, &calls}), fetch.Use("y", nop))
	if err := c.Close(); err != nil || calls != 1 {
		t.Errorf("Close: %v, told %d times", err, calls)
	}
}

func TestMiddlewareIsPassedOutermostFirst(t *testing.T) {
	t.Parallel()
	var order []string
	named := func(name string) fetch.Middleware {
		return func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				order = append(order, name)
				return next.Open(ctx, req)
			})
		}
	}
	web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/", "http://b/": "end"}}
	c := fetch.New(&fetch.Options{Proxy: noProxy, Middleware: []fetch.Middleware{named("outer"), named("inner")}}, web.load)
	if _, err := text(t, c, "http://a/"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "outer inner outer inner" {
		t.Errorf("passed %s", got)
	}
}

func TestFormErrorNamesTheQuestions(t *testing.T) {
	t.Parallel()
	err := &fetch.FormError{Form: fetch.Form{Fields: []fetch.Field{
		{Name: "Please fill in", Kind: fetch.FieldNote}, {Name: "Name", Kind: fetch.FieldLine}, {Name: "Color\x1b", Kind: fetch.FieldChoice},
	}}}
	if got, want := err.Error(), `the form asks for 'Name', 'Color\x1b'`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Stat does not modify the request, and closes a body that it opened.
func TestStatOfRequests(t *testing.T) {
	t.Parallel()
	for _, ops := range [][]fetch.Op{{fetch.OpGet, fetch.OpStat}, {fetch.OpGet}} {
		body := &writerToBody{Reader: strings.NewReader("12345")}
		c := fetch.New(nil, load("x", ops, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			if req.Header.Get("A") != "1" {
				t.Errorf("header %v", req.Header)
			}
			return &fetch.Response{Meta: fetch.Meta{Size: 5}, Body: body}, nil
		}))
		req := &fetch.Request{URL: uri.MustParse("x:y"), Header: textproto.MIMEHeader{"A": {"1"}}}
		resp, err := c.Stat(t.Context(), req)
		if err != nil || resp.Size != 5 || resp.Body != fetch.NoBody || body.closed == 0 || req.Op != fetch.OpGet {
			t.Errorf("%+v, %v; closed %d times", resp, err, body.closed)
		}
	}
}

func TestOpTextRoundTrip(t *testing.T) {
	t.Parallel()
	for op, want := range map[fetch.Op]string{fetch.OpGet: "get", fetch.OpStat: "stat", fetch.OpList: "list", fetch.OpDial: "dial"} {
		text, err := op.MarshalText()
		var back fetch.Op
		if err != nil || string(text) != want || back.UnmarshalText(text) != nil || back != op {
			t.Errorf("%v: %q, %v, and back %v", op, text, err, back)
		}
	}
	if text, err := fetch.Op(9).MarshalText(); !strings.Contains(fmt.Sprint(err), "unknown operation 9") {
		t.Errorf("%q, %v", text, err)
	}
	if err := new(fetch.Op).UnmarshalText([]byte("op?")); !strings.Contains(fmt.Sprint(err), `unknown operation "op?"`) {
		t.Error(err)
	}
}
