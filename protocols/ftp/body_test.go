package ftp

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A scriptedConn returns three bytes and then an error.
type scriptedConn struct {
	net.Conn
	err    error
	gave   bool
	closed bool
}

func (c *scriptedConn) Read(p []byte) (int, error) {
	if c.gave {
		return 0, c.err
	}
	c.gave = true
	return copy(p, "abc"), nil
}

func (c *scriptedConn) Close() error {
	c.closed = true
	return nil
}

// TestEndOfData checks the end of the data connection. Only a reply proves that the transfer is
// complete, and only after it may the session be reused.
func TestEndOfData(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(fetch.ErrInterrupted)
	timeout := &wire.TimeoutError{}
	for _, tt := range []struct {
		name   string
		err    error // of the data connection
		reply  int   // of the server
		size   int64 // announced by the server
		ctx    context.Context
		code   fetch.Code // "" if the content is complete
		retry  bool
		text   string // in the error
		usable bool   // the session can be reused
	}{
		{name: "confirmed", err: io.EOF, reply: 226, size: 3, usable: true},
		{name: "confirmed by another reply", err: io.EOF, reply: 250, size: 3, usable: true},
		{name: "confirmed, no size known", err: io.EOF, reply: 226, size: -1, usable: true},
		{name: "confirmed, but short", err: io.EOF, reply: 226, size: 9, code: fetch.ErrTruncated, retry: true,
			text: "received 3 of 9 bytes", usable: true},
		{name: "broken off for now", err: io.EOF, reply: 426, size: 3, code: fetch.ErrTruncated, retry: true, text: "aborted the transfer"},
		{name: "broken off for good", err: io.EOF, reply: 550, size: 3, code: fetch.ErrTruncated, text: "aborted the transfer"},
		{name: "TLS session not resumed", err: io.EOF, reply: 522, size: 3, code: fetch.ErrTLS, text: "data connection"},
		{name: "TLS without an end, all there", err: io.ErrUnexpectedEOF, reply: 226, size: 3, usable: true},
		{name: "TLS without an end, all there, not confirmed", err: io.ErrUnexpectedEOF, reply: 451, size: 3,
			code: fetch.ErrTruncated, retry: true, text: "aborted the transfer"},
		{name: "TLS without an end, short", err: io.ErrUnexpectedEOF, reply: 226, size: 9, code: fetch.ErrTruncated, retry: true,
			text: "without ending TLS"},
		{name: "TLS without an end, no size known", err: io.ErrUnexpectedEOF, reply: 226, size: -1, code: fetch.ErrTruncated,
			retry: true, text: "without ending TLS"},
		{name: "reset", err: syscall.ECONNRESET, reply: 226, size: 3, code: fetch.ErrTruncated, retry: true, text: "was interrupted"},
		{name: "silent", err: timeout, reply: 226, size: 3, code: fetch.ErrNetwork, retry: true},
		{name: "given up", err: fetch.ErrInterrupted, reply: 226, size: 3, ctx: cancelled, code: fetch.ErrInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := &scriptedConn{err: tt.err}
			var outcomes []error
			b := &transferBody{ctx: t.Context(), data: fetch.NewConn(t.Context(), data, fetch.Timeouts{}), unbind: func() bool { return true }, size: tt.size,
				final: &wire.Reply{Code: tt.reply}, done: func(err error) error {
					outcomes = append(outcomes, err)
					return nil
				}}
			if tt.ctx != nil {
				b.ctx = tt.ctx
			}
			got, err := io.ReadAll(b)
			if string(got) != "abc" {
				t.Errorf("%q, want all that came", got)
			}
			if code := classOf(err); code != tt.code {
				t.Errorf("%v: class %q, want %q", err, code, tt.code)
			}
			var e *fetch.Error
			if errors.As(err, &e) && (e.Retry != tt.retry || !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("%v, retry %t; want %q, %t", err, e.Retry, tt.text, tt.retry)
			}
			b.Close()
			if len(outcomes) != 1 || (outcomes[0] == nil) != tt.usable || !data.closed {
				t.Errorf("the session was given back with %v, want once, usable: %t; data connection closed: %t",
					outcomes, tt.usable, data.closed)
			}
			if _, again := b.Read(make([]byte, 1)); err != nil && again != err || err == nil && again != io.EOF {
				t.Errorf("the second read: %v, after %v", again, err)
			}
		})
	}
}

// classOf returns the class that the client gives an error.
func classOf(err error) fetch.Code {
	if errors.As(err, new(*wire.TimeoutError)) {
		return fetch.ErrNetwork
	}
	return fetch.CodeOf(err)
}
