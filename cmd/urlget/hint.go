package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
)

func hintOf(err error) string {
	var own *fetch.Error
	var wrong *failure.Usage
	switch {
	case errors.As(err, &wrong):
		return wrong.Hint
	case !errors.As(err, &own):
		return causeHint(err)
	case own.Hint != "" || !own.Reason.IsZero():
		return hint(own)
	}
	use := causeHint(err)
	switch {
	case use == hintPlain:
		return plainURL(own.URL)
	case use == "" && own.Code == fetch.ErrProtocol:
		return otherProtocol(own)
	case use == "":
		return hintOfCode(own)
	}
	return use
}

// hint returns the hint for an error with a hint or a reason. The library has hints for any program;
// hint translates its reasons to the flags of this one.
func hint(e *fetch.Error) string {
	r := e.Reason
	switch r.Kind {
	case fetch.ReasonPort:
		return fmt.Sprintf("use --allow-port %d to allow it", r.Port)
	case fetch.ReasonRedirect:
		return "use --allow-redirect " + r.Scheme + " to allow it"
	case fetch.ReasonNoDriver:
		use := "use --gateway " + r.Scheme + "=URL to retrieve it through a gateway"
		if strings.HasPrefix(r.Scheme, "x-") {
			use = "install a driver program urlget-" + r.Scheme + " in PATH, or " + use
		}
		return use
	case fetch.ReasonPlaintext:
		return e.Hint + ", or --allow-plaintext-login"
	case fetch.ReasonNewsServer:
		return "use --news-server" + strings.TrimPrefix(e.Hint, "set the news server in the options")
	case fetch.ReasonGateway:
		use := "use --" + r.Scheme + "-gateway URL"
		return use + strings.TrimPrefix(e.Hint, "set the gateway in the options")
	case fetch.ReasonForm:
		use := "use --form 'NAME=VALUE' to fill it in"
		form, ok := errors.AsType[*fetch.FormError](e)
		if ok && slices.ContainsFunc(form.Form.Fields, isFile) {
			use += ", or --form-file 'NAME=FILE' to send a file"
		}
		return use + strings.TrimPrefix(e.Hint, "answer it")
	case fetch.ReasonNotBeginning:
		return "use -O " + r.File + " to replace it"
	case fetch.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts, or --known-hosts FILE); at a terminal, urlget asks"
	}
	if use := reasonHints[r.Kind]; use != "" {
		return use
	}
	if rest, ok := strings.CutPrefix(e.Hint, "supply a user name and password"); ok {
		return "use -u USER to log in" + rest
	}
	return e.Hint
}

var reasonHints = map[fetch.ReasonKind]string{
	fetch.ReasonPrivate:  "use --allow-private to allow it",
	fetch.ReasonNoLogin:  "use --user and --password, or a netrc file",
	fetch.ReasonAccount:  "use --ftp-account NAME to send an account",
	fetch.ReasonMailbox:  "use --mailbox FILE to search a mailbox",
	fetch.ReasonIdentity: "use --certificate FILE, and --private-key FILE unless the same file has the key",
	fetch.ReasonSSHLogin: "start an SSH agent, or use --identity FILE, or --user and --password",
	fetch.ReasonProxy:    "use --no-proxy to connect directly",
	fetch.ReasonMailDraft: "use --compose to print a message draft, or --mailbox FILE to list messages to " +
		"and from the address",
}

func hintOfCode(e *fetch.Error) string {
	switch e.Code {
	case fetch.ErrAuth:
		return "use -u USER to log in, or check the password"
	case fetch.ErrNetwork:
		if strings.Contains(e.Message(), "no complete response within") {
			return "use -T SECONDS to wait longer"
		}
	}
	return ""
}

func isFile(f fetch.Field) bool { return f.Kind == fetch.FieldFile }

// hintPlain is the hint template for a URL with the scheme without TLS.
const hintPlain = "try URL"

// causeHints are the hints for errors of the system and of the standard library. The first match is
// used.
var causeHints = []struct {
	is   func(error) bool
	hint string
}{
	{as(func(*replay.NearError) bool { return true }),
		"use --replay-near to accept captures of similar URLs"},
	{as(func(e x509.CertificateInvalidError) bool { return e.Reason == x509.Expired }),
		"check the system clock, or use --insecure to skip verification"},
	{as(func(x509.CertificateInvalidError) bool { return true }), "use --insecure to skip verification"},
	{as(func(x509.HostnameError) bool { return true }), "use --insecure to skip verification"},
	{as(func(x509.UnknownAuthorityError) bool { return true }),
		"use --ca-certificate FILE to trust a private CA, or --insecure to skip verification"},
	{as(func(tls.RecordHeaderError) bool { return true }), hintPlain},
	{alert(116), "use --certificate FILE, and --private-key FILE"},
	{alert(42), "the server refused the certificate of --certificate"},
	{alert(48), "the server does not trust the issuer of --certificate"},
	{alert(40), "the server requires other ciphers, or a certificate: --certificate FILE"},
	{alert(70), "the server has no TLS 1.2 or later, which urlget requires"},
	{as(func(*net.DNSError) bool { return true }), "check the host name and the network connection"},
	{as(func(e *net.AddrError) bool { return e.Err == "no suitable address found" }),
		"-4 and -6 allow only addresses of one family"},
	{is(syscall.ECONNREFUSED), "check the port, and that the server is running"},
	{is(syscall.ENETUNREACH), "check the network connection, or choose an address family with -4 or -6"},
	{is(crawl.ErrInUse), "wait until the other process ends, or use -P DIR for a separate tree"},
	{isStdout, ""},
	{is(syscall.ENOSPC), "use -P DIR to save elsewhere"},
	{is(syscall.EDQUOT), "use -P DIR to save elsewhere"},
	{is(syscall.EROFS), "use -P DIR to save elsewhere"},
	{is(syscall.ENAMETOOLONG), "use -O NAME or -P DIR to choose a shorter name"},
}

func causeHint(err error) string {
	for _, c := range causeHints {
		if c.is(err) {
			return c.hint
		}
	}
	return ""
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](match func(E) bool) func(error) bool {
	return func(err error) bool {
		var e E
		return errors.As(err, &e) && match(e)
	}
}

// alert matches an alert of TLS that the server sent. Crypto/tls has a type of its own for these.
func alert(code tls.AlertError) func(error) bool {
	return as(func(e *net.OpError) bool { return e.Op == "remote error" && e.Err.Error() == code.Error() })
}

// isStdout reports whether err is an error of standard output, which -P does not change.
func isStdout(err error) bool {
	var file *fs.PathError
	return errors.As(err, &file) && file.Path == os.Stdout.Name()
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
