package main

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dial := func(err error) error {
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}
		return &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", err)}
	}
	unverified := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	file := func(err error) error { return &fs.PathError{Op: "openat", Path: "x.txt", Err: err} }
	self := &x509.Certificate{Issuer: pkix.Name{CommonName: "me"}, Subject: pkix.Name{CommonName: "me"}}
	other := &x509.Certificate{Issuer: pkix.Name{CommonName: "ca"}, Subject: pkix.Name{CommonName: "me"}}
	tests := []struct {
		code       fetch.Code
		err        error
		text, hint string // "" matches any text
	}{
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: &x509.Certificate{NotAfter: day}, Reason: x509.Expired}),
			"TLS failure: certificate has expired on 2026-01-02", "--insecure"},
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: day.AddDate(500, 0, 0), NotAfter: day}, Reason: x509.Expired}),
			"TLS failure: certificate is not valid before 2526-01-02", "clock"},
		{fetch.ErrTLS, unverified(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a.example", "b.example"}}, Host: "h.example"}),
			"TLS failure: certificate is valid for a.example, b.example, not h.example", "--insecure"},
		{fetch.ErrTLS, unverified(x509.UnknownAuthorityError{Cert: self}), "TLS failure: self-signed certificate", "--ca-certificate"},
		{fetch.ErrTLS, unverified(x509.UnknownAuthorityError{Cert: other}), "TLS failure: certificate signed by unknown authority", "--ca-certificate"},
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: other, Reason: x509.TooManyIntermediates}), "TLS failure: certificate is not valid", ""},
		{fetch.ErrTLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			"TLS failure: the server does not speak TLS on this port", "try http://h.example/x"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(116)}, "TLS failure: the server refused the TLS handshake: certificate required", ""},
		{fetch.ErrNetwork, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h.example", IsNotFound: true}},
			"network failure: lookup h.example: no such host", "name"},
		{fetch.ErrNetwork, dial(syscall.ECONNREFUSED), "network failure: connect to 127.0.0.1:9: connection refused", "port"},
		{fetch.ErrNetwork, fmt.Errorf("proxy http://p: %w", dial(syscall.ECONNREFUSED)), "network failure: proxy http://p: connect to 127.0.0.1:9: connection refused", "port"},
		{fetch.ErrNetwork, fmt.Errorf("proxy socks5://p: %w", &net.OpError{Op: "socks connect", Net: "tcp", Err: dial(syscall.ECONNREFUSED)}),
			"network failure: proxy socks5://p: connect to 127.0.0.1:9: connection refused", "port"},
		{fetch.ErrNetwork, dial(syscall.ENETUNREACH), "network failure: connect to 127.0.0.1:9: network is unreachable", "network connection"},
		{fetch.ErrNetwork, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, "network failure: connection reset by peer", ""},
		{fetch.ErrFile, file(syscall.ENOSPC), "local file failure: x.txt: no space left on device", "-P DIR"},
		{fetch.ErrFile, file(syscall.ENAMETOOLONG), "local file failure: x.txt: file name too long", "-O NAME"},
		{fetch.ErrFile, file(syscall.EACCES), "local file failure: x.txt: permission denied", ""},
		{fetch.ErrFile, &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}, "local file failure: b: read-only file system", ""},
		{fetch.ErrProtocol, errors.New(`malformed reply: "SSH-2.0-OpenSSH_9.2"`), "", "sftp://h.example/x"},
		{fetch.ErrProtocol, errors.New(`the server does not speak HTTP, but said "(vsFTPd"`), "", "ftp://h.example/x"},
		{fetch.ErrProtocol, errors.New(`the server does not speak HTTP, but said "what?"`), "", "another service"},
		{fetch.ErrTruncated, fmt.Errorf("the connection ended after 1 of 2 bytes: %w", io.ErrUnexpectedEOF), "transfer incomplete: the connection ended after 1 of 2 bytes", ""},
		{fetch.ErrNetwork, fmt.Errorf("closed without an answer: %w", io.EOF), "network failure: closed without an answer", ""},
		{fetch.ErrNetwork, fmt.Errorf("closed without a response: %w", io.EOF), "network failure: closed without a response", ""},
		{fetch.ErrNetwork, fmt.Errorf("odd: %w", io.EOF), "network failure: odd: EOF", ""},
		{fetch.ErrProtocol, errors.New("odd"), "protocol violation: odd", ""},
	}
	for _, tt := range tests {
		err := plainError(&fetch.Error{URL: "https://h.example/x", Code: tt.code, Err: tt.err})
		var e *fetch.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v: %T", tt.err, err)
		}
		if tt.text != "" && e.Message() != tt.text || !strings.Contains(hint(e), tt.hint) {
			t.Errorf("%v:\n got %q, hint %q\nwant %q, hint %q", tt.err, e.Message(), hint(e), tt.text, tt.hint)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%v is lost", tt.err)
		}
	}
	// An existing hint is not replaced.
	known := &fetch.Error{Code: fetch.ErrNetwork, Err: dial(syscall.ECONNREFUSED), Hint: "start it"}
	if got := plainError(known); got.(*fetch.Error).Hint != "start it" || known.Message() == got.(*fetch.Error).Message() {
		t.Errorf("%v", got)
	}
	if plain := errors.New("odd"); plainError(plain) != plain {
		t.Error("what is not known is changed")
	}
}

func TestFullDevice(t *testing.T) {
	t.Parallel()
	full := func(path string) error { return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC} }
	for _, tt := range []struct {
		err        error
		text, hint string
	}{
		{&fetch.Error{Code: fetch.ErrFile, Err: full(os.Stdout.Name())}, "local file failure: " + os.Stdout.Name() + ": no space left on device", ""},
		{archiveFailure("a/b.warc.gz", full("a")), "local file failure: cannot write the archive a/b.warc.gz: no space left on device", "use --warc FILE to write it elsewhere"},
	} {
		var e *fetch.Error
		if !errors.As(plainError(tt.err), &e) || e.Message() != tt.text || hint(e) != tt.hint {
			t.Errorf("%v: got %v, want %q and %q", tt.err, plainError(tt.err), tt.text, tt.hint)
		}
	}
}

func TestUnknownCommands(t *testing.T) {
	t.Parallel()
	a := newApp(nil, stdio{}, nil)
	root := a.command()
	for word, want := range map[string]string{
		"head": "use urlget stat", "mirror": "use urlget -m", "expalin": "did you mean urlget explain ?",
		"schems": "did you mean urlget schemes ?", "localhost": "for a host, use https://localhost/",
	} {
		wrong, ok := a.checkFirstWord(root, []string{word, "http://h/"}).(*failure.Usage)
		if !ok || !strings.HasPrefix(wrong.Hint, want) {
			t.Errorf("%s: %+v, want %q", word, wrong, want)
		}
	}
	for _, word := range []string{"h.example", "http://h/", "h:80", "Word", "-", ""} {
		if err := a.checkFirstWord(root, []string{word}); err != nil {
			t.Errorf("%q: %v", word, err)
		}
	}
	if err := a.checkFirstWord(root, nil); err != nil {
		t.Error(err)
	}
}
