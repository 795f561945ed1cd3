package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
)

// A cause describes an error of the system or of a library.
type cause struct {
	// of returns the text of the cause in err and its replacement, or "" if err has another cause.
	of   func(err error) (text, words string)
	hint string // may be ""
}

// causes lists the known causes. The first match is used.
var causes = []cause{
	// Certificates and TLS.
	{certificate(x509.Expired), "check the system clock, or use --insecure to skip verification"},
	{as(func(e x509.HostnameError) string {
		if names := namesOf(e.Certificate); names != "" {
			return "certificate is valid for " + names + ", not " + e.Host
		}
		return "certificate is not valid for " + e.Host
	}),
		"use --insecure to skip verification"},
	{as(func(e x509.UnknownAuthorityError) string {
		if e.Cert != nil && e.Cert.Issuer.String() == e.Cert.Subject.String() {
			return "self-signed certificate"
		}
		return "certificate signed by unknown authority"
	}), "use --ca-certificate FILE to trust a private CA, or --insecure to skip verification"},
	{certificate(-1), "use --insecure to skip verification"},
	{as(func(e tls.RecordHeaderError) string { return "the server does not speak TLS on this port" }), hintPlain},
	{as(func(e tls.AlertError) string {
		return "the server refused the TLS handshake: " + strings.TrimPrefix(e.Error(), "tls: ")
	}), ""},

	// The network.
	{as(func(e *net.DNSError) string {
		return "lookup " + e.Name + ": " + e.Err
	}), "check the host name and the network connection"},
	{dialing(syscall.ECONNREFUSED, "connect to %s: connection refused"), "check the port, and that the server is running"},
	{dialing(syscall.EHOSTUNREACH, "connect to %s: no route to host"), ""},
	{dialing(syscall.ENETUNREACH, "connect to %s: network is unreachable"), "check the network connection, or choose an address family with -4 or -6"},
	{dialing(syscall.ETIMEDOUT, "connect to %s: connection timed out"), ""},
	{as(func(e *net.AddrError) string {
		if e.Err != "no suitable address found" {
			return ""
		}
		return e.Addr + ": no suitable address for -4 or -6"
	}), ""},
	{system(syscall.ECONNRESET, "connection reset by peer"), ""},
	{eofAfter("bytes"), ""},
	{eofAfter("response"), ""},
	{eofAfter("answer"), ""},
	{system(syscall.EPIPE, "broken pipe"), ""},

	// This machine.
	{is(crawl.ErrInUse), "wait until the other process ends, or use -P DIR for a separate tree"},
	{system(syscall.ENOSPC, "no space left on device"), "use -P DIR to save elsewhere"},
	{system(syscall.EDQUOT, "disk quota exceeded"), "use -P DIR to save elsewhere"},
	{system(syscall.ENAMETOOLONG, "file name too long"), "use -O NAME or -P DIR to choose a shorter name"},
	{system(syscall.EROFS, "read-only file system"), "use -P DIR to save elsewhere"},
	{system(syscall.EACCES, "permission denied"), ""},
	{system(syscall.EPERM, "operation not permitted"), ""},
	{system(syscall.ENOTDIR, "not a directory"), ""},
	{system(syscall.EISDIR, "is a directory"), ""},
	{system(syscall.ENOENT, "no such file or directory"), ""},
}

// hintPlain is the hint template for a URL with the scheme without TLS.
const hintPlain = "try URL"

// is matches a single error and keeps its text.
func is(one error) func(error) (string, string) {
	return func(err error) (string, string) {
		if !errors.Is(err, one) {
			return "", ""
		}
		return one.Error(), one.Error()
	}
}

// as matches errors of type E.
func as[E error](words func(E) string) func(error) (string, string) {
	return func(err error) (string, string) {
		var e E
		if !errors.As(err, &e) {
			return "", ""
		}
		return outermost(err, e.Error()), words(e)
	}
}

// outermost returns the text of the library error that wraps text, or text itself.
func outermost(err error, text string) string {
	var check *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &check) && strings.Contains(check.Error(), text):
		return check.Error()
	case errors.As(err, &op) && strings.Contains(op.Error(), text):
		return op.Error()
	}
	return text
}

// certificate matches certificates that are invalid for reason; -1 matches any reason.
func certificate(reason x509.InvalidReason) func(error) (string, string) {
	return func(err error) (string, string) {
		var e x509.CertificateInvalidError
		if !errors.As(err, &e) || reason >= 0 && e.Reason != reason {
			return "", ""
		}
		words := "certificate is not valid"
		if e.Reason == x509.Expired && e.Cert != nil {
			words = "certificate has expired on " + e.Cert.NotAfter.Format(time.DateOnly)
			if time.Now().Before(e.Cert.NotBefore) {
				words = "certificate is not valid before " + e.Cert.NotBefore.Format(time.DateOnly)
			}
		}
		return outermost(err, e.Error()), words
	}
}

// namesOf returns the host names and addresses of a certificate, or "".
func namesOf(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) > 3 {
		names = append(names[:3], "others")
	}
	return strings.Join(names, ", ")
}

// dialing matches failed connections. format gets the address as %s.
func dialing(errno syscall.Errno, format string) func(error) (string, string) {
	return func(err error) (string, string) {
		var e *net.OpError
		if !errors.As(err, &e) || !errors.Is(e, errno) {
			return "", ""
		}
		text := e.Error()
		for e.Op != "dial" { // such as that of a SOCKS proxy
			if !errors.As(e.Err, &e) {
				return "", ""
			}
		}
		if e.Addr == nil {
			return "", ""
		}
		return text, fmt.Sprintf(format, e.Addr)
	}
}

// eofAfter removes ": EOF" after a text whose last word already says that data ended.
func eofAfter(last string) func(error) (string, string) {
	return func(err error) (string, string) {
		for _, eof := range []error{io.EOF, io.ErrUnexpectedEOF} {
			if text := " " + last + ": " + eof.Error(); errors.Is(err, eof) && strings.HasSuffix(messageOf(err), text) {
				return text, " " + last
			}
		}
		return "", ""
	}
}

// system matches errno. The text includes the file name, if any.
func system(errno syscall.Errno, words string) func(error) (string, string) {
	return func(err error) (string, string) {
		if !errors.Is(err, errno) {
			return "", ""
		}
		var file *fs.PathError
		var link *os.LinkError
		var conn *net.OpError
		switch {
		case errors.As(err, &file):
			return file.Error(), file.Path + ": " + words
		case errors.As(err, &link):
			return link.Error(), link.New + ": " + words
		case errors.As(err, &conn):
			return conn.Error(), words
		}
		return errno.Error(), words
	}
}

// plainError returns err with the text of its cause and, if err has no hint, the hint of the cause.
func plainError(err error) error {
	for _, c := range causes {
		text, words := c.of(err)
		if words == "" {
			continue
		}
		if isStdout(err) {
			c.hint = ""
		}
		var e *fetch.Error
		if !errors.As(err, &e) {
			return failure.Hinted(strings.Replace(err.Error(), text, words, 1), c.hint)
		}
		dup := *e
		if dup.Err != nil {
			dup.Err = &rewordedError{strings.Replace(messageOf(dup.Err), text, words, 1), dup.Err}
		}
		if dup.Hint == "" && dup.Reason.IsZero() {
			dup.Hint = c.hint
		}
		if dup.Hint == hintPlain {
			dup.Hint = plainURL(dup.URL)
		}
		return &dup
	}
	var e *fetch.Error
	if errors.As(err, &e) && e.Code == fetch.ErrProtocol && e.Hint == "" && e.Reason.IsZero() {
		dup := *e
		dup.Hint = otherProtocol(e)
		return &dup
	}
	return err
}

// isStdout reports whether err is an error of standard output, which -P does not change.
func isStdout(err error) bool {
	var file *fs.PathError
	return errors.As(err, &file) && file.Path == os.Stdout.Name()
}

// messageOf returns the text of err without the operation and the URL of an *fetch.Error.
func messageOf(err error) string {
	if e, ok := err.(*fetch.Error); ok {
		return e.Message()
	}
	return err.Error()
}

// plainURL returns the hint with the URL of the scheme without TLS, which lacks the final "s".
func plainURL(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !strings.HasSuffix(scheme, "s") {
		return ""
	}
	return strings.Replace(hintPlain, "URL", strings.TrimSuffix(scheme, "s")+":"+rest, 1)
}

// otherProtocol returns the hint that the server speaks another protocol, recognized by its greeting.
func otherProtocol(e *fetch.Error) string {
	text, url := e.Message(), e.URL
	for _, g := range flags.Greetings {
		_, rest, ok := strings.Cut(url, ":")
		if ok && strings.Contains(text, g.Text) && !strings.HasPrefix(url, g.Scheme+":") {
			return strings.Replace(g.Hint, "URL", g.Scheme+":"+rest, 1)
		}
	}
	return ""
}

// A rewordedError is an error with another text.
type rewordedError struct {
	text string
	err  error
}

func (r *rewordedError) Error() string { return r.text }
func (r *rewordedError) Unwrap() error { return r.err }
