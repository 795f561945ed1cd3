package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestHintsForCauses(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}
		return &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", err)}
	}
	unverified := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	file := func(err error) error { return &fs.PathError{Op: "openat", Path: "x.txt", Err: err} }
	tests := []struct {
		code fetch.Code
		err  error
		want string // "" is no hint
	}{
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Reason: x509.Expired}), "clock"},
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Reason: x509.TooManyIntermediates}), "--insecure"},
		{fetch.ErrTLS, unverified(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h.example"}), "--insecure"},
		{fetch.ErrTLS, unverified(x509.UnknownAuthorityError{}), "--ca-certificate"},
		{fetch.ErrTLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "try http://h.example/x"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(116)}, "--certificate FILE"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(70)}, "TLS 1.2"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "--certificate FILE"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(80)}, ""},
		{fetch.ErrAuth, errors.New("USER anonymous"), "-u USER"},
		{fetch.ErrNetwork, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h.example", IsNotFound: true}}, "name"},
		{fetch.ErrNetwork, &net.AddrError{Err: "no suitable address found", Addr: "h.example"}, "-4 and -6"},
		{fetch.ErrNetwork, dial(syscall.ECONNREFUSED), "port"},
		{fetch.ErrNetwork, fmt.Errorf("proxy http://p: %w", dial(syscall.ECONNREFUSED)), "port"},
		{fetch.ErrNetwork, dial(syscall.ENETUNREACH), "network connection"},
		{fetch.ErrNetwork, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, ""},
		{fetch.ErrFile, file(syscall.ENOSPC), "-P DIR"},
		{fetch.ErrFile, file(syscall.ENAMETOOLONG), "-O NAME"},
		{fetch.ErrFile, file(syscall.EACCES), ""},
		{fetch.ErrProtocol, errors.New(`malformed reply: "SSH-2.0-OpenSSH_9.2"`), "sftp://h.example/x"},
		{fetch.ErrProtocol, errors.New(`the server does not speak HTTP, but said "(vsFTPd"`), "ftp://h.example/x"},
		{fetch.ErrProtocol, errors.New(`the server does not speak HTTP, but said "what?"`), "another service"},
		{fetch.ErrProtocol, errors.New("not a TFTP packet"), ""},
		{fetch.ErrProtocol, errors.New("odd"), ""},
	}
	for _, tt := range tests {
		got := hintOf(&fetch.Error{URL: "https://h.example/x", Code: tt.code, Err: tt.err})
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%v: hint %q, want %q", tt.err, got, tt.want)
		}
	}
	known := &fetch.Error{Code: fetch.ErrNetwork, Err: dial(syscall.ECONNREFUSED), Hint: "start it"}
	if got := hintOf(known); got != "start it" {
		t.Errorf("an existing hint is replaced by %q", got)
	}
	if got := hintOf(errors.New("odd")); got != "" {
		t.Errorf("an unknown error has the hint %q", got)
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
		if !errors.As(tt.err, &e) || e.Message() != tt.text || hintOf(e) != tt.hint {
			t.Errorf("%v: hint %q, want %q and %q", tt.err, hintOf(tt.err), tt.text, tt.hint)
		}
	}
}
