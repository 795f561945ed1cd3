package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

// Error is the type of every error from a Client; other errors from drivers
// are wrapped in it. Its text never contains a password.
type Error struct {
	Op    string // "get", "stat", "list", "dial", "read"
	URL   string // redacted
	Code  Code
	Reply Reply // zero if the server said nothing
	Retry bool  // the same request may succeed later
	// RetryAfter is how long the server asked to wait before that; 0 if it
	// did not.
	RetryAfter time.Duration
	Hint       string // what the user can do about it, or ""
	Err        error  // cause, or nil
}

// Error returns the operation, the URL and Message.
func (e *Error) Error() string {
	switch {
	case e.URL == "":
		return e.Message()
	case e.Op == "":
		return e.URL + ": " + e.Message()
	}
	return e.Op + " " + e.URL + ": " + e.Message()
}

// Message returns what happened, and in parentheses what the server said, on
// one line with control characters escaped.
func (e *Error) Message() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Err != nil {
		text := Printable(causeText(e.Err))
		for again := true; again && e.Code != ""; { // what was wrapped may say the class too
			text, again = strings.CutPrefix(text, string(e.Code)+": ")
		}
		if text != "" && text != string(e.Code) {
			if b.Len() > 0 {
				b.WriteString(": ")
			}
			b.WriteString(text)
		}
	}
	if said := e.Reply.String(); said != "" {
		b.WriteString(" (" + said + ")")
	}
	return b.String()
}

// causeText returns err's text without repeating what an enclosed error says
// of its operation and URL.
func causeText(err error) string {
	switch inner := err.(type) {
	case *Error:
		return inner.Message()
	case *uri.Error:
		return inner.Reason
	}
	return err.Error()
}

// Unwrap returns Code and Err, so that errors.Is finds both.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// A Code classifies an error and is itself one, for errors.Is.
type Code string

// The classes of errors.
const (
	ErrURL            Code = "malformed URL"
	ErrScheme         Code = "no driver for scheme"
	ErrNotRetrievable Code = "URL does not name data"
	ErrInteractive    Code = "URL names an interactive service"
	ErrNeedSearch     Code = "URL names an index: search words needed"
	ErrNeedForm       Code = "URL names a form: answers needed"
	ErrPolicy         Code = "refused by policy"
	ErrNetwork        Code = "network failure"
	ErrTLS            Code = "TLS failure"
	ErrAuth           Code = "authentication failed"
	ErrNotFound       Code = "not found"
	ErrRefused        Code = "refused by server"
	ErrBusy           Code = "server busy"
	ErrServer         Code = "server failure"
	ErrProtocol       Code = "protocol violation"
	ErrRedirect       Code = "bad redirect"
	ErrRange          Code = "range not satisfiable"
	ErrNotModified    Code = "not modified"
	ErrTruncated      Code = "transfer incomplete"
	ErrChanged        Code = "resource changed"
	ErrTooLarge       Code = "larger than the limit"
	ErrFile           Code = "local file failure"
	ErrInterrupted    Code = "interrupted"
)

// Error returns the class in words.
func (c Code) Error() string { return string(c) }

// Is makes ErrNotFound match fs.ErrNotExist, and ErrRefused and ErrAuth match
// fs.ErrPermission.
func (c Code) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return c == ErrNotFound
	case fs.ErrPermission:
		return c == ErrRefused || c == ErrAuth
	}
	return false
}

// CodeOf returns the class of err: its Code if it has one, "" if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return ""
}

// asError makes err the *Error that a caller gets for op on u. A driver's own
// *Error is completed in a copy, as drivers may return the same one twice.
func asError(op string, u uri.URI, err error) *Error {
	e, ok := err.(*Error)
	if ok {
		dup := *e
		e = &dup
	} else {
		code, retry := classify(err)
		e = &Error{Code: code, Retry: retry, Err: err}
	}
	if e.Op == "" {
		e.Op = op
	}
	if e.URL == "" {
		e.URL = u.Redacted()
	}
	if e.Code == "" {
		e.Code, _ = classify(e.Err)
	}
	return e
}

// contextError makes a failure that may be due to the end of ctx say why it
// ended. What a server answered, or a rule refused, stays as it is.
func contextError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	if !errors.Is(err, cause) {
		switch code, _ := classify(err); code {
		case "", ErrNetwork, ErrTLS, ErrTruncated, ErrProtocol:
		default:
			return err
		}
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if CodeOf(cause) != "" {
		return err
	}
	e := &Error{Code: ErrInterrupted, Err: err}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Code, e.Retry = ErrNetwork, true
	}
	return e
}

// classify finds the class of an error that a driver did not classify, and
// whether trying again may help.
func classify(err error) (code Code, retry bool) {
	var (
		enclosed *Error
		given    Code
		uriErr   *uri.Error
		netErr   net.Error
		dnsErr   *net.DNSError
		pathErr  *fs.PathError
	)
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &pathErr) && errors.Is(err, syscall.EPIPE):
		return ErrFile, false // the reader of a pipe that we write to has gone
	case errors.As(err, &enclosed):
		return enclosed.Code, enclosed.Retry
	case errors.As(err, &given):
		return given, false
	case errors.Is(err, context.Canceled):
		return ErrInterrupted, false
	case errors.Is(err, wire.ErrUnsafe), errors.As(err, &uriErr):
		return ErrURL, false
	case isTLS(err):
		return ErrTLS, false
	case errors.Is(err, wire.ErrLineTooLong), errors.Is(err, wire.ErrReplyTooLong),
		errors.Is(err, wire.ErrMalformed):
		return ErrProtocol, false
	case errors.As(err, &dnsErr):
		return ErrNetwork, dnsErr.IsTemporary || dnsErr.IsTimeout
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ErrNetwork, true
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound, false
	case errors.Is(err, fs.ErrPermission):
		return ErrRefused, false
	case errors.As(err, &pathErr):
		return ErrFile, false
	case errors.As(err, &netErr):
		return ErrNetwork, netErr.Timeout()
	case errors.Is(err, errors.ErrUnsupported):
		return ErrNotRetrievable, false
	}
	return "", false
}

// isTLS reports whether err comes from a TLS handshake or record layer.
func isTLS(err error) bool {
	var (
		record  tls.RecordHeaderError
		alert   tls.AlertError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		op      *net.OpError
	)
	if errors.As(err, &op) && (op.Op == "local error" || op.Op == "remote error") {
		return true // so crypto/tls marks alerts, sent or received
	}
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}
