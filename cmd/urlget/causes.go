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

// A cause is what goes wrong below us, in libraries and in the system, where errors are written for
// programmers.
type cause struct {
	// of finds the cause in an error: its text, which is what is replaced, and the words for it.
	of   func(err error) (text, words string)
	hint string // what can be done about it, or ""
}

// causes are looked through in order: the first one that fits counts.
var causes = []cause{
	// Certificates and TLS.
	{certificate(x509.Expired), "is the clock of this machine right? --insecure does not check certificates"},
	{as(func(e x509.HostnameError) string {
		return "the certificate is not for " + e.Host + namesOf(e.Certificate)
	}),
		"--insecure does not check certificates"},
	{as(func(e x509.UnknownAuthorityError) string {
		if e.Cert != nil && e.Cert.Issuer.String() == e.Cert.Subject.String() {
			return "the certificate is self-signed"
		}
		return "the certificate is from an authority that is not trusted"
	}), "--ca-certificate FILE trusts the authority in FILE, --insecure does not check"},
	{certificate(-1), "--insecure does not check certificates"},
	{as(func(e tls.RecordHeaderError) string { return "the server does not speak TLS at this port" }), hintPlain},
	{as(func(e tls.AlertError) string {
		return "the server refused the handshake: " + strings.TrimPrefix(e.Error(), "tls: ")
	}), ""},

	// The network.
	{as(func(e *net.DNSError) string {
		if e.IsNotFound {
			return "there is no host " + e.Name
		}
		return "the name servers do not tell the address of " + e.Name
	}), "is the name right, and is there a network?"},
	{dialing(syscall.ECONNREFUSED, "nobody listens at %s"), "is the port right, and the server running?"},
	{dialing(syscall.EHOSTUNREACH, "no way leads to %s"), ""},
	{dialing(syscall.ENETUNREACH, "no way leads to %s"), "is this machine connected, and to such addresses (-4, -6)?"},
	{dialing(syscall.ETIMEDOUT, "%s does not answer"), ""},
	{as(func(e *net.AddrError) string {
		if e.Err != "no suitable address found" {
			return ""
		}
		return e.Addr + " has no address of the kind that -4 or -6 asks for"
	}), ""},
	{system(syscall.ECONNRESET, "the server cut the connection"), ""},
	{eofAfter("bytes"), ""},
	{eofAfter("answer"), ""},
	{system(syscall.EPIPE, "the reader is gone"), ""},

	// This machine.
	{is(crawl.ErrInUse), "wait until it has ended, or keep a tree of your own with -P DIR"},
	{system(syscall.ENOSPC, "the disk is full"), "-P DIR saves elsewhere"},
	{system(syscall.EDQUOT, "your share of the disk is used up"), "-P DIR saves elsewhere"},
	{system(syscall.ENAMETOOLONG, "the name is too long for this system"), "choose a shorter one, with -O NAME or -P DIR"},
	{system(syscall.EROFS, "the disk is read-only"), "-P DIR saves elsewhere"},
	{system(syscall.EACCES, "not allowed here"), ""},
	{system(syscall.EPERM, "not allowed here"), ""},
	{system(syscall.ENOTDIR, "a file is where a directory should be"), ""},
	{system(syscall.EISDIR, "a directory is where a file should be"), ""},
	{system(syscall.ENOENT, "there is no such file"), ""},
}

// hintPlain stands for the URL with the scheme that has no TLS.
const hintPlain = "try URL"

// is makes the words of one error, which are good as they are.
func is(one error) func(error) (string, string) {
	return func(err error) (string, string) {
		if !errors.Is(err, one) {
			return "", ""
		}
		return one.Error(), one.Error()
	}
}

// as makes the words of errors of one type.
func as[E error](words func(E) string) func(error) (string, string) {
	return func(err error) (string, string) {
		var e E
		if !errors.As(err, &e) {
			return "", ""
		}
		return outermost(err, e.Error()), words(e)
	}
}

// outermost returns the text of what libraries wrapped around text, else text.
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

// certificate makes the words of certificates that are invalid for a reason; -1 is any.
func certificate(reason x509.InvalidReason) func(error) (string, string) {
	return func(err error) (string, string) {
		var e x509.CertificateInvalidError
		if !errors.As(err, &e) || reason >= 0 && e.Reason != reason {
			return "", ""
		}
		words := "the certificate is not valid"
		if e.Reason == x509.Expired && e.Cert != nil {
			words = "the certificate has expired, on " + e.Cert.NotAfter.Format(time.DateOnly)
			if time.Now().Before(e.Cert.NotBefore) {
				words = "the certificate is not valid before " + e.Cert.NotBefore.Format(time.DateOnly)
			}
		}
		return outermost(err, e.Error()), words
	}
}

// namesOf says what a certificate is for.
func namesOf(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 3:
		names = append(names[:3], "others")
	}
	return ", but for " + strings.Join(names, ", ")
}

// dialing makes the words of a connection that failed by errno; %s is the address.
func dialing(errno syscall.Errno, format string) func(error) (string, string) {
	return func(err error) (string, string) {
		var e *net.OpError
		if !errors.As(err, &e) || !errors.Is(e, errno) {
			return "", ""
		}
		text := e.Error()
		for e.Op != "dial" { // but that of a SOCKS proxy, say
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

// eofAfter leaves the names of Go for the end of a stream out of a sentence whose last word says
// it.
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

// system makes the words of errno, with the name of the file if there is one.
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

// inWords returns err with the words of its cause, and what can be done about it if nobody who is
// nearer to it said so.
func inWords(err error) error {
	for _, c := range causes {
		text, words := c.of(err)
		if words == "" {
			continue
		}
		var e *fetch.Error
		if !errors.As(err, &e) {
			return failure.Hinted(strings.Replace(err.Error(), text, words, 1), c.hint)
		}
		dup := *e
		if dup.Err != nil {
			dup.Err = &reworded{strings.Replace(messageOf(dup.Err), text, words, 1), dup.Err}
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

// messageOf returns the text of err without the operation and the URL of an *fetch.Error.
func messageOf(err error) string {
	if e, ok := err.(*fetch.Error); ok {
		return e.Message()
	}
	return err.Error()
}

// plainURL is the hint at the URL whose scheme has no TLS: those with TLS have an "s" at their end.
func plainURL(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !strings.HasSuffix(scheme, "s") {
		return ""
	}
	return strings.Replace(hintPlain, "URL", strings.TrimSuffix(scheme, "s")+":"+rest, 1)
}

// otherProtocol is the hint that a server speaks another protocol, by how it greets.
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

// reworded is an error with other words.
type reworded struct {
	text string
	err  error
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.err }
