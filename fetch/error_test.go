package fetch_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  fetch.Error
		want string
	}{
		{"all there is", fetch.Error{Op: "get", URL: "ftp://h/x", Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 550, Text: "No such file"}, Err: errors.New("RETR x")},
			"get ftp://h/x: not found: RETR x (550 No such file)"},
		{"no operation", fetch.Error{URL: "ftp://h/x", Code: fetch.ErrBusy}, "ftp://h/x: server busy"},
		{"no URL", fetch.Error{Op: "get", Code: fetch.ErrURL, Err: errors.New("empty")}, "malformed URL: empty"},
		{"no class", fetch.Error{Err: errors.New("odd")}, "odd"},
		{"the cause is the class", fetch.Error{Code: fetch.ErrAuth, Err: fetch.ErrAuth}, "authentication failed"},
		{"the cause says the class, more than once", fetch.Error{Code: fetch.ErrInterrupted, Err: fmt.Errorf("interrupted: %w", fetch.ErrInterrupted)}, "interrupted"},
		{"the cause says the class and more", fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("interrupted: enough")}, "interrupted: enough"},
		{"a reply without a number", fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: "out of paper"}}, "server failure (out of paper)"},
		{"a number without words", fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: 42}}, "server failure (42)"},
		{"a server that plays with the terminal", fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: 500, Text: "\x1b[2Jboo\r\nhoo"}},
			`server failure (500 \x1b[2Jboo\r\nhoo)`},
		{"a cause of several lines", fetch.Error{Code: fetch.ErrServer, Err: errors.New("a\nb")}, `server failure: a\nb`},
		{"an error within says its URL no second time", fetch.Error{Op: "get", URL: "cid:x", Code: fetch.ErrNotFound,
			Err: &fetch.Error{Op: "get", URL: "mid:y", Code: fetch.ErrBusy}}, "get cid:x: not found: server busy"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOnlyErrorsWithoutAClassAreWrapped(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("more: %w", &fetch.Error{Code: fetch.ErrRefused})
	for _, err := range []error{nil, refused, fetch.ErrBusy} {
		if got := fetch.ErrFile.Wrap("save", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	got := fetch.ErrFile.Wrap("save", fs.ErrInvalid)
	if e, ok := got.(*fetch.Error); !ok || e.Op != "save" || e.Code != fetch.ErrFile || e.Err != fs.ErrInvalid || e.Retry {
		t.Errorf("%#v", got)
	}
}

func TestErrorMatchesCodeAndCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("more: %w", &fetch.Error{Code: fetch.ErrNotFound, Err: cause})
	for _, want := range []error{fetch.ErrNotFound, cause, fs.ErrNotExist} {
		if !errors.Is(err, want) {
			t.Errorf("the error does not match %v", want)
		}
	}
	for _, other := range []error{fetch.ErrBusy, fs.ErrPermission} {
		if errors.Is(err, other) {
			t.Errorf("the error matches %v", other)
		}
	}
	for _, code := range []fetch.Code{fetch.ErrAuth, fetch.ErrRefused} {
		if !errors.Is(&fetch.Error{Code: code}, fs.ErrPermission) {
			t.Errorf("%v does not match fs.ErrPermission", code)
		}
	}
	if got := fetch.CodeOf(err); got != fetch.ErrNotFound {
		t.Errorf("CodeOf is %q", got)
	}
	if got := fetch.CodeOf(fmt.Errorf("x: %w", fetch.ErrBusy)); got != fetch.ErrBusy {
		t.Errorf("CodeOf of a bare code is %q", got)
	}
	if got := fetch.CodeOf(cause); got != "" {
		t.Errorf("CodeOf of another error is %q", got)
	}
}

// The client classifies errors that the driver did not classify.
func TestErrorsOfDriversAreClassified(t *testing.T) {
	t.Parallel()
	_, uriErr := uri.Parse("a b")
	tests := []struct {
		err   error
		code  fetch.Code
		retry bool
	}{
		{fetch.ErrBusy, fetch.ErrBusy, false},
		{&fetch.Error{Err: syscall.ECONNRESET, Retry: true}, fetch.ErrNetwork, true},
		{fmt.Errorf("x: %w", &fetch.Error{Code: fetch.ErrBusy, Retry: true}), fetch.ErrBusy, true},
		{context.Canceled, fetch.ErrInterrupted, false},
		{context.DeadlineExceeded, fetch.ErrNetwork, true},
		{wire.CheckLine("a\r\nb"), fetch.ErrURL, false},
		{uriErr, fetch.ErrURL, false},
		{x509.UnknownAuthorityError{}, fetch.ErrTLS, false},
		{wire.ErrLineTooLong, fetch.ErrProtocol, false},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, fetch.ErrNetwork, false},
		{&net.DNSError{Err: "try again", IsTemporary: true}, fetch.ErrNetwork, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, fetch.ErrNetwork, true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, fetch.ErrNetwork, true},
		{&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, fetch.ErrFile, false},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, fetch.ErrFile, false},
		{&wire.TimeoutError{Op: "read", Idle: time.Second}, fetch.ErrNetwork, true},
		{io.ErrUnexpectedEOF, fetch.ErrNetwork, true},
		{io.ErrClosedPipe, fetch.ErrNetwork, true},
		{fs.ErrNotExist, fetch.ErrNotFound, false},
		{fs.ErrPermission, fetch.ErrRefused, false},
		{errors.ErrUnsupported, fetch.ErrNotRetrievable, false},
		{errors.New("odd"), "", false},
	}
	for _, tt := range tests {
		c := fetch.New(&fetch.Options{Proxy: noProxy}, fetch.Use("x", fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, tt.err })))
		_, err := c.Get(t.Context(), "x://u:secret@h/p")
		var e *fetch.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v: error of type %T", tt.err, err)
		}
		if e.Code != tt.code || e.Retry != tt.retry {
			t.Errorf("%v: class %q and retry %v, want %q and %v", tt.err, e.Code, e.Retry, tt.code, tt.retry)
		}
		if _, own := tt.err.(*fetch.Error); !own && !errors.Is(err, tt.err) {
			t.Errorf("%v: the cause is lost in %v", tt.err, err)
		}
		if e.Op != "get" || e.URL != "x://u:xxxxx@h/p" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: operation %q, URL %q: %v", tt.err, e.Op, e.URL, err)
		}
	}
}

func TestDriversErrorIsNotChanged(t *testing.T) {
	t.Parallel()
	shared := &fetch.Error{Code: fetch.ErrBusy}
	c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(
		func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, shared })))
	if _, err := c.Get(t.Context(), "x:p"); !errors.Is(err, fetch.ErrBusy) || shared.URL != "" || shared.Op != "" {
		t.Errorf("error %v, and the driver's own is now %+v", err, *shared)
	}
}

// Error.Body holds the beginning of an error page, as long as MaxErrorBody allows.
func TestErrorBody(t *testing.T) {
	t.Parallel()
	refused := &fetch.Error{Code: fetch.ErrRefused, Body: bytes.Repeat([]byte("x"), 10_000)}
	for _, tt := range []struct {
		limit, want int
		partial     bool
	}{{0, 4 << 10, true}, {-1, 0, true}, {9_999, 9_999, true}, {10_000, 10_000, false}} {
		recorded := 0
		c := fetch.New(&fetch.Options{MaxErrorBody: tt.limit, Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
			return &fetch.Recording{End: func(err error) {
				var e *fetch.Error
				if errors.As(err, &e) {
					recorded = len(e.Body)
				}
			}}
		})}, fetch.Use("x", fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, refused })))
		_, err := c.Get(t.Context(), "x:p")
		var e *fetch.Error
		if !errors.As(err, &e) || len(e.Body) != tt.want || e.Partial != tt.partial || recorded != 10_000 {
			t.Errorf("MaxErrorBody %d: %v with %d bytes, Partial %v, and %d bytes recorded", tt.limit, err, len(e.Body), e.Partial, recorded)
		}
	}
}

// An error caused by the end of the context contains the cause of that end.
func TestContextCauseIsTheError(t *testing.T) {
	t.Parallel()
	why := errors.New("the user pressed the button")
	tests := []struct {
		name  string
		cause error
		err   error
		code  fetch.Code
	}{
		{"canceled", nil, context.Canceled, fetch.ErrInterrupted},
		{"with a cause", why, fmt.Errorf("interrupted: %w", why), fetch.ErrInterrupted},
		{"seen as a broken connection", why, net.ErrClosed, fetch.ErrInterrupted},
		{"seen as an odd error", why, errors.New("odd"), fetch.ErrInterrupted},
		{"with a class of its own", &fetch.Error{Code: fetch.ErrTooLarge}, io.ErrUnexpectedEOF, fetch.ErrTooLarge},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tt.cause)
		c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, tt.err })))
		_, err := c.Get(ctx, "x:p")
		if !errors.Is(err, context.Cause(ctx)) || fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: error %v of class %q, want the cause and %q", tt.name, err, fetch.CodeOf(err), tt.code)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(
		func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, fetch.ErrNotFound })))
	if _, err := c.Get(ctx, "x:p"); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("what the server had answered became %v", err)
	}
	late, stop := context.WithDeadlineCause(t.Context(), time.Unix(1, 0), why)
	defer stop()
	if _, err := c.Get(late, "x:p"); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("what the server had answered became %v", err)
	}
	c = fetch.New(nil, fetch.Use("x", fetch.DriverFunc(
		func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) { return nil, context.Cause(ctx) })))
	if _, err := c.Get(late, "x:p"); fetch.CodeOf(err) != fetch.ErrNetwork || !errors.Is(err, why) {
		t.Errorf("a deadline became %v of class %q", err, fetch.CodeOf(err))
	}
}

// A lateContext has a deadline that has passed, which its timer notices only later.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now(), true }

// The system may notice a deadline before the context does. The cause is the same.
func TestDeadlineHasOneCause(t *testing.T) {
	t.Parallel()
	why := errors.New("too late")
	for _, noticed := range []error{os.ErrDeadlineExceeded, context.DeadlineExceeded} { // by a connection and by Dial
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
			defer cancel()
			c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: noticed}
			})))
			if _, err := c.Get(lateContext{ctx}, "x:p"); !errors.Is(err, why) {
				t.Errorf("the system noticed the deadline: %v", err)
			}
		})
	}
}

func TestContextError(t *testing.T) {
	t.Parallel()
	if err := fetch.ContextError(t.Context()); err != nil {
		t.Errorf("before the end: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	own := errors.New("own")
	for _, tt := range []struct {
		ctx   context.Context
		cause error
		want  fetch.Code
		retry bool
	}{
		{late, context.DeadlineExceeded, fetch.ErrNetwork, true},
		{canceled(t, nil), context.Canceled, fetch.ErrInterrupted, false},
		{canceled(t, own), own, fetch.ErrInterrupted, false},
		{canceled(t, fetch.ErrTooLarge), fetch.ErrTooLarge, fetch.ErrTooLarge, false},
	} {
		err := fetch.ContextError(tt.ctx)
		var e *fetch.Error
		if retry := errors.As(err, &e) && e.Retry; fetch.CodeOf(err) != tt.want || !errors.Is(err, tt.cause) || retry != tt.retry {
			t.Errorf("%v: %v", tt.cause, err)
		}
	}
}

// canceled returns a context that was canceled with cause.
func canceled(t *testing.T, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx
}
