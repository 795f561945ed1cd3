package fetch_test

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

	"github.com/urlget/urlget/fetch"
)

func TestCausesInErrorTexts(t *testing.T) {
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
		code fetch.Code
		err  error
		text string
	}{
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: &x509.Certificate{NotAfter: day}, Reason: x509.Expired}),
			"TLS failure: certificate has expired on 2026-01-02"},
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: day.AddDate(500, 0, 0), NotAfter: day}, Reason: x509.Expired}),
			"TLS failure: certificate is not valid before 2526-01-02"},
		{fetch.ErrTLS, unverified(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a.example", "b.example"}}, Host: "h.example"}),
			"TLS failure: certificate is valid for a.example, b.example, not h.example"},
		{fetch.ErrTLS, x509.HostnameError{Certificate: &x509.Certificate{DNSNames: strings.Fields("a b c d e")}, Host: "h.example"},
			"TLS failure: certificate is valid for a, b, c and 2 others, not h.example"},
		{fetch.ErrTLS, unverified(x509.UnknownAuthorityError{Cert: self}), "TLS failure: self-signed certificate"},
		{fetch.ErrTLS, unverified(x509.UnknownAuthorityError{Cert: other}), "TLS failure: certificate signed by unknown authority"},
		{fetch.ErrTLS, unverified(x509.CertificateInvalidError{Cert: other, Reason: x509.TooManyIntermediates}),
			"TLS failure: too many intermediates for path length constraint"},
		{fetch.ErrTLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			"TLS failure: the server does not speak TLS on this port"},
		{fetch.ErrTLS, &net.OpError{Op: "remote error", Err: tls.AlertError(116)},
			"TLS failure: the server refused the TLS handshake: certificate required"},
		{fetch.ErrNetwork, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h.example", Server: "192.0.2.1:53", IsNotFound: true}},
			"network failure: lookup h.example: no such host"},
		{fetch.ErrNetwork, dial(syscall.ECONNREFUSED), "network failure: connect to 127.0.0.1:9: connection refused"},
		{fetch.ErrNetwork, fmt.Errorf("proxy http://p: %w", dial(syscall.ECONNREFUSED)), "network failure: proxy http://p: connect to 127.0.0.1:9: connection refused"},
		{fetch.ErrNetwork, fmt.Errorf("proxy socks5://p: %w", &net.OpError{Op: "socks connect", Net: "tcp", Err: dial(syscall.ECONNREFUSED)}),
			"network failure: proxy socks5://p: connect to 127.0.0.1:9: connection refused"},
		{fetch.ErrNetwork, dial(syscall.ENETUNREACH), "network failure: connect to 127.0.0.1:9: network is unreachable"},
		{fetch.ErrNetwork, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, "network failure: connection reset by peer"},
		{fetch.ErrNetwork, &net.OpError{Op: "dial", Net: "tcp", Err: &net.AddrError{Err: "no suitable address found", Addr: "h.example"}},
			"network failure: address h.example: no suitable address found"},
		{fetch.ErrFile, file(syscall.ENOSPC), "local file failure: x.txt: no space left on device"},
		{fetch.ErrFile, file(syscall.ENAMETOOLONG), "local file failure: x.txt: file name too long"},
		{fetch.ErrFile, fmt.Errorf("y: %w", file(syscall.EACCES)), "local file failure: y: x.txt: permission denied"},
		{fetch.ErrFile, errors.Join(file(syscall.EACCES), errors.New("odd")), `local file failure: x.txt: permission denied\nodd`},
		{fetch.ErrFile, &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}, "local file failure: b: read-only file system"},
		{fetch.ErrTruncated, fmt.Errorf("the connection ended after 1 of 2 bytes: %w", io.ErrUnexpectedEOF), "transfer incomplete: the connection ended after 1 of 2 bytes"},
		{fetch.ErrNetwork, fmt.Errorf("closed without an answer: %w", io.EOF), "network failure: closed without an answer"},
		{fetch.ErrNetwork, fmt.Errorf("closed without a response: %w", io.EOF), "network failure: closed without a response"},
		{fetch.ErrNetwork, fmt.Errorf("odd: %w", io.EOF), "network failure: odd: EOF"},
		{fetch.ErrProtocol, errors.New("odd"), "protocol violation: odd"},
	}
	for _, tt := range tests {
		e := &fetch.Error{URL: "https://h.example/x", Code: tt.code, Err: tt.err}
		if got := e.Message(); got != tt.text {
			t.Errorf("%v:\n got %q\nwant %q", tt.err, got, tt.text)
		}
	}
	for _, kind := range []fetch.ReasonKind{fetch.ReasonHostKey, fetch.ReasonHostKeyChanged, fetch.ReasonKeyExchange} {
		e := &fetch.Error{Code: fetch.ErrTLS, Reason: fetch.Reason{Kind: kind}, Err: errors.New("the key is unknown")}
		if got := e.Message(); got != "the key is unknown" {
			t.Errorf("%s of SSH: %q", kind, got)
		}
	}
}
