package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// RunMiddleware checks that a middleware passes on contents, listings, sessions with their
// [fetch.Terminal], errors and contexts unchanged, and that it closes bodies. It is for middleware
// that limits or observes, not for one that responds instead of the driver, such as a cache. Each
// case is a subtest and calls wrap for a new middleware.
func RunMiddleware(t *testing.T, wrap func() fetch.Middleware) {
	t.Helper()
	for _, c := range middlewareCases {
		t.Run(c.name, func(t *testing.T) { c.test(t, wrap(), 20*time.Second) })
	}
}

// A middlewareCase is one requirement for middleware.
type middlewareCase struct {
	name string
	run  func(t testing.TB, m *middlewareTest)
}

var middlewareCases = []middlewareCase{
	{"Object", passesObject},
	{"Listing", passesListing},
	{"Session", passesSession},
	{"PlainSession", passesPlainSession},
	{"Error", passesError},
	{"Request", passesRequest},
	{"Close", passesClose},
	{"Members", passesMembers},
}

// test runs the case. The timeout ends a middleware that hangs.
func (c middlewareCase) test(t testing.TB, wrapped fetch.Middleware, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), timeout,
		fmt.Errorf("the middleware did not return within %v", timeout))
	defer cancel()
	m := &middlewareTest{ctx: ctx}
	m.client = fetch.New(&fetch.Options{Middleware: []fetch.Middleware{wrapped}},
		func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-test", Driver: m,
				Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList, fetch.OpDial}})
		})
	defer m.client.Close()
	c.run(t, m)
}

// A middlewareTest is a client with the middleware and the driver below it. Each case sets the
// driver's responses.
type middlewareTest struct {
	ctx        context.Context
	client     *fetch.Client
	respond    func(ctx context.Context, req *fetch.Request) (*fetch.Response, error)
	openBodies atomic.Int64 // bodies that are not closed
}

const middlewareURL = "x-test://host.invalid/a"

var errMiddleware = errors.New("the driver's error")

// Open implements fetch.Driver.
func (m *middlewareTest) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	resp, err := m.respond(ctx, req)
	if err == nil {
		m.openBodies.Add(1)
	}
	return resp, err
}

// object makes the driver return content.
func (m *middlewareTest) object(content string) {
	m.respond = func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: int64(len(content)), Name: "a"},
			Body: m.body(content)}, nil
	}
}

// body returns a body that counts as closed after the first Close.
func (m *middlewareTest) body(content string) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{bytes.NewReader([]byte(content)), m.closer()}
}

func (m *middlewareTest) closer() io.Closer {
	return closeFunc(sync.OnceFunc(func() { m.openBodies.Add(-1) }))
}

type closeFunc func()

func (f closeFunc) Close() error { f(); return nil }

// closed checks that all bodies are closed.
func (m *middlewareTest) closed(t testing.TB) {
	t.Helper()
	if n := m.openBodies.Load(); n != 0 {
		t.Errorf("%d bodies of the driver are open", n)
	}
}

func passesObject(t testing.TB, m *middlewareTest) {
	const want = "the content"
	m.object(want)
	for _, read := range []func(io.Reader) ([]byte, error){
		func(r io.Reader) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{r}) },
		func(r io.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := io.Copy(&b, r)
			return b.Bytes(), err
		},
	} {
		resp, err := m.client.Get(m.ctx, middlewareURL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(resp.Body)
		resp.Body.Close()
		if string(got) != want || err != nil || resp.Size != int64(len(want)) || resp.Name != "a" ||
			resp.Kind != fetch.KindObject {
			t.Errorf("got %q, %v, %+v; want %q", got, err, resp.Meta, want)
		}
	}
	m.closed(t)
}

func passesListing(t testing.TB, m *middlewareTest) {
	m.listing()
	var names []string
	for e, err := range m.client.List(m.ctx, middlewareURL) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	if !reflect.DeepEqual(names, []string{"one", "two"}) {
		t.Errorf("entries %q", names)
	}
	m.closed(t)
}

// listing makes the driver return two entries, and their contents.
func (m *middlewareTest) listing() {
	m.respond = func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		if req.Op != fetch.OpList {
			return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: m.body(req.URL.Path())}, nil
		}
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1},
			Body: m.body("one\ntwo\n"),
			Parse: func(r io.Reader) iter.Seq2[fetch.Entry, error] {
				return func(yield func(fetch.Entry, error) bool) {
					text, err := io.ReadAll(r)
					if err != nil {
						yield(fetch.Entry{}, err)
						return
					}
					for name := range bytes.FieldsSeq(text) {
						e := fetch.Entry{Name: string(name),
							URL: uri.MustParse("x-test://host.invalid/" + string(name))}
						if !yield(e, nil) {
							return
						}
					}
				}
			}}, nil
	}
}

// A session is a body that implements fetch.Terminal.
type session struct {
	io.ReadWriter
	io.Closer
	calls []string
}

func (s *session) Resize(columns, rows int) error { s.calls = append(s.calls, "resize"); return nil }
func (s *session) Break() error                   { s.calls = append(s.calls, "break"); return nil }
func (s *session) Status() string                 { return "status" }

func passesSession(t testing.TB, m *middlewareTest) {
	var typed bytes.Buffer
	s := &session{Closer: m.closer(), ReadWriter: struct {
		io.Reader
		io.Writer
	}{bytes.NewReader([]byte("login: ")), &typed}}
	m.respond = func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}, Body: s}, nil
	}
	got, err := m.client.Dial(m.ctx, middlewareURL)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(got)
	if string(text) != "login: " || err != nil {
		t.Errorf("the session sends %q, %v", text, err)
	}
	if _, err := io.WriteString(got, "joe\r"); err != nil || typed.String() != "joe\r" {
		t.Errorf("the session receives %q, %v", typed.String(), err)
	}
	terminal, ok := got.ReadWriteCloser.(fetch.Terminal)
	if !ok {
		t.Fatalf("the session is a %T, which does not implement fetch.Terminal", got.ReadWriteCloser)
	}
	terminal.Resize(80, 24)
	terminal.Break()
	if !reflect.DeepEqual(s.calls, []string{"resize", "break"}) || terminal.Status() != "status" {
		t.Errorf("the terminal received %q, and its status is %q", s.calls, terminal.Status())
	}
	got.Close()
	m.closed(t)
}

// passesPlainSession opens a session without a terminal, which must not gain one.
func passesPlainSession(t testing.TB, m *middlewareTest) {
	var typed bytes.Buffer
	m.respond = func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}, Body: struct {
			io.Reader
			io.Writer
			io.Closer
		}{bytes.NewReader(nil), &typed, m.closer()}}, nil
	}
	got, err := m.client.Dial(m.ctx, middlewareURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.ReadWriteCloser.(fetch.Terminal); ok {
		t.Error("a session without a terminal has gained one")
	}
	got.Close()
	m.closed(t)
}

func passesError(t testing.TB, m *middlewareTest) {
	m.respond = func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true, Err: errMiddleware}
	}
	for range 3 {
		_, err := m.client.Get(m.ctx, middlewareURL)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrBusy || !e.Retry || !errors.Is(err, errMiddleware) {
			t.Errorf("error %v, want the driver's", err)
		}
	}
	why := errors.New("canceled by the suite")
	ctx, cancel := context.WithCancelCause(m.ctx)
	m.respond = func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
		cancel(why)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if _, err := m.client.Get(ctx, middlewareURL); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause of the context, %q", err, why)
	}
}

func passesRequest(t testing.TB, m *middlewareTest) {
	type key struct{}
	req := &fetch.Request{URL: uri.MustParse(middlewareURL), Op: fetch.OpStat,
		Range:  fetch.Range{Offset: 3, Length: 4},
		Accept: []string{"text/plain"}}
	original := *req
	m.respond = func(ctx context.Context, got *fetch.Request) (*fetch.Response, error) {
		if ctx.Value(key{}) != "value" {
			t.Error("the context has lost its values")
		}
		if got.URL != req.URL || got.Op != req.Op || got.Range != req.Range ||
			!reflect.DeepEqual(got.Accept, req.Accept) {
			t.Errorf("the driver gets the request %+v, want %+v", got, req)
		}
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: m.body("")}, nil
	}
	resp, err := m.client.Do(context.WithValue(m.ctx, key{}, "value"), req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !reflect.DeepEqual(*req, original) {
		t.Errorf("the request was changed to %+v", *req)
	}
	m.closed(t)
}

// passesClose closes bodies twice without reading them.
func passesClose(t testing.TB, m *middlewareTest) {
	m.object("the content")
	for range 100 {
		resp, err := m.client.Get(m.ctx, middlewareURL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		resp.Body.Close()
	}
	m.closed(t)
}

// passesMembers gets the members of a listing while reading it.
func passesMembers(t testing.TB, m *middlewareTest) {
	m.listing()
	n := 0
	for e, err := range m.client.List(m.ctx, middlewareURL) {
		if err != nil {
			t.Fatal(err)
		}
		if err := discard(m.client.Get(m.ctx, e.URL.String())); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d members, want 2", n)
	}
	m.closed(t)
}
