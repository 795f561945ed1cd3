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
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// An Error describes a failed operation on a URL. All errors from a Client have this type; errors
// of drivers of other types are wrapped in it. Its text never contains a password.
type Error struct {
	Op    string // "get", "stat", "list", "dial", "read"
	URL   string // redacted
	Code  Code
	Reply Reply // zero if the server sent none
	Retry bool  // whether the same request may succeed later
	// RetryAfter is how long the server asked to wait before retrying; 0 if it did not.
	RetryAfter time.Duration
	// Reason is the machine-readable cause; zero if there is none.
	Reason Reason
	Hint   string // a remedy, in words that suit any program; or ""
	// Header and Body are the header and body of the error response, such as an error page, or the
	// header of a response that says that nothing was modified. They are nil for protocols without
	// them. Drivers limit Body to 64 KiB, and the client limits it to Options.MaxErrorBody. Partial is
	// set if Body was cut.
	Header  textproto.MIMEHeader
	Body    []byte
	Partial bool
	Err     error // cause, or nil
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

// Message returns the failure, followed by the server's reply in parentheses, on a single line with
// control characters escaped.
func (e *Error) Message() string {
	var b strings.Builder
	class := e.Code.Error()
	switch e.Reason.Kind {
	case ReasonHostKey, ReasonHostKeyChanged, ReasonKeyExchange:
		class = "" // SSH shares the code of TLS
	}
	b.WriteString(class)
	if e.Err != nil {
		text := Printable(causeText(e.Err))
		for again := true; again && class != ""; { // a wrapped error may repeat the class
			text, again = strings.CutPrefix(text, class+": ")
		}
		if text != "" && text != class {
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

// Unwrap returns Code and Err, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// A Code classifies an error and is itself an error, for errors.Is. Its value is a token such as
// "not_found" that programs may store and compare. [Code.Error] returns a text for people.
type Code string

// The codes of errors.
const (
	ErrURL            Code = "malformed_url"
	ErrRequest        Code = "malformed_request" // the fields of the request contradict each other
	ErrScheme         Code = "no_driver"
	ErrNoServer       Code = "no_server" // neither the URL nor the options name a server
	ErrNotRetrievable Code = "not_retrievable"
	ErrInteractive    Code = "interactive"
	ErrNeedSearch     Code = "need_search"
	ErrNeedForm       Code = "need_form"
	ErrPolicy         Code = "policy"
	ErrNetwork        Code = "network"
	ErrTLS            Code = "tls"
	ErrAuth           Code = "auth"
	ErrNotFound       Code = "not_found"
	ErrRefused        Code = "refused"
	ErrBusy           Code = "busy"
	ErrServer         Code = "server"
	ErrProtocol       Code = "protocol"
	ErrRedirect       Code = "redirect"
	ErrRange          Code = "range"
	ErrNotModified    Code = "not_modified"
	ErrTruncated      Code = "truncated"
	ErrChanged        Code = "changed"
	ErrChecksum       Code = "checksum"
	ErrTooLarge       Code = "too_large"
	ErrFile           Code = "file"
	ErrInterrupted    Code = "interrupted"
)

var codeTexts = map[Code]string{
	ErrURL:            "malformed URL",
	ErrRequest:        "malformed request",
	ErrScheme:         "no driver for scheme",
	ErrNoServer:       "no server specified",
	ErrNotRetrievable: "not retrievable",
	ErrInteractive:    "URL names an interactive service",
	ErrNeedSearch:     "URL names an index: search words needed",
	ErrNeedForm:       "URL names a form: answers needed",
	ErrPolicy:         "refused by policy",
	ErrNetwork:        "network failure",
	ErrTLS:            "TLS failure",
	ErrAuth:           "authentication failed",
	ErrNotFound:       "not found",
	ErrRefused:        "refused by server",
	ErrBusy:           "server busy",
	ErrServer:         "server failure",
	ErrProtocol:       "protocol violation",
	ErrRedirect:       "bad redirect",
	ErrRange:          "range not satisfiable",
	ErrNotModified:    "not modified",
	ErrTruncated:      "transfer incomplete",
	ErrChanged:        "resource changed",
	ErrChecksum:       "checksum mismatch",
	ErrTooLarge:       "larger than the limit",
	ErrFile:           "local file failure",
	ErrInterrupted:    "interrupted",
}

// Error returns the code in words.
func (c Code) Error() string {
	if text, ok := codeTexts[c]; ok {
		return text
	}
	return string(c)
}

// Is makes ErrNotFound match fs.ErrNotExist, and ErrRefused and ErrAuth match fs.ErrPermission.
func (c Code) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return c == ErrNotFound
	case fs.ErrPermission:
		return c == ErrRefused || c == ErrAuth
	}
	return false
}

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	return ""
}

// Classify returns the code of an error, and whether a retry may succeed. The client calls it for
// errors of drivers without a code.
func Classify(err error) (code Code, retry bool) {
	var (
		enclosed *Error
		declared Code
		uriErr   *uri.Error
		netErr   net.Error
		dnsErr   *net.DNSError
		pathErr  *fs.PathError
	)
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &pathErr) && errors.Is(err, syscall.EPIPE):
		return ErrFile, false // the reader of the destination pipe has exited
	case errors.As(err, &enclosed):
		return enclosed.Code, enclosed.Retry
	case errors.As(err, &declared):
		return declared, false
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
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe),
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
		return true // crypto/tls marks alerts, sent or received, this way
	}
	return errors.Is(err, wire.ErrEarly) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host) ||
		errors.As(err, &invalid)
}

// Errorf returns an error with the code, whose cause is the one of fmt.Errorf.
func (c Code) Errorf(format string, args ...any) *Error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

// Retryf is like Errorf, for a failure that a later attempt may not meet.
func (c Code) Retryf(format string, args ...any) *Error {
	return &Error{Code: c, Retry: true, Err: fmt.Errorf(format, args...)}
}

// Wrap returns err as an *Error with code c for the operation op, which may be "". If err is nil or
// has a code, Wrap returns it unchanged.
func (c Code) Wrap(op string, err error) error {
	if err == nil || CodeOf(err) != "" {
		return err
	}
	return &Error{Op: op, Code: c, Err: err}
}
