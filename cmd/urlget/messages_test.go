package main

import (
	"cmp"
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

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/render"
)

// codes are all classes of errors, and kinds all reasons.
var (
	codes = []fetch.Code{fetch.ErrURL, fetch.ErrRequest, fetch.ErrScheme, fetch.ErrNoServer, fetch.ErrNotRetrievable,
		fetch.ErrInteractive, fetch.ErrNeedSearch, fetch.ErrNeedForm, fetch.ErrPolicy, fetch.ErrNetwork, fetch.ErrTLS,
		fetch.ErrAuth, fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrBusy, fetch.ErrServer, fetch.ErrProtocol,
		fetch.ErrRedirect, fetch.ErrRange, fetch.ErrNotModified, fetch.ErrTruncated, fetch.ErrChanged,
		fetch.ErrChecksum, fetch.ErrTooLarge, fetch.ErrFile, fetch.ErrInterrupted}
	kinds = []fetch.ReasonKind{fetch.ReasonPort, fetch.ReasonPrivate, fetch.ReasonLocal, fetch.ReasonNotData,
		fetch.ReasonRedirect, fetch.ReasonNoDriver, fetch.ReasonPlaintext, fetch.ReasonNoLogin, fetch.ReasonAccount,
		fetch.ReasonNewsServer, fetch.ReasonMailbox, fetch.ReasonMailDraft, fetch.ReasonForm,
		fetch.ReasonNameServer, fetch.ReasonProxy, fetch.ReasonHostKey, fetch.ReasonDirectory,
		fetch.ReasonIdentity, fetch.ReasonSSHLogin, fetch.ReasonHostKeyChanged, fetch.ReasonNotBeginning,
		fetch.ReasonContradiction, fetch.ReasonKeyExchange}
)

// TestMessages compares the message and the hint of each class, reason and cause with
// testdata/messages, which is to be read as a whole. URLGET_WRITE=1 writes it.
func TestMessages(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	row := func(what string, e *fetch.Error) {
		e.URL = "https://h.example/x"
		fmt.Fprintf(&b, "%-32s %s\n%-32s hint: %s\n", what, render.ErrorText(e), "", cmp.Or(hintOf(e), "-"))
	}
	for _, c := range codes {
		row(string(c), &fetch.Error{Code: c})
	}
	hints := map[fetch.ReasonKind]string{fetch.ReasonForm: "answer it",
		fetch.ReasonNewsServer: "set the news server in the options, or name it in the URL"}
	for _, k := range kinds {
		row("reason "+string(k), &fetch.Error{Code: fetch.ErrRefused, Err: errors.New("cause"), Hint: cmp.Or(hints[k], "hint of the library"),
			Reason: fetch.Reason{Kind: k, Port: 25, Scheme: "x-s", Host: "h", File: "f"}})
	}
	alert := func(code tls.AlertError) error { return &net.OpError{Op: "remote error", Err: code} }
	file := func(err error) error { return &fs.PathError{Op: "open", Path: "f", Err: err} }
	for _, cause := range []struct {
		code fetch.Code
		err  error
	}{
		{fetch.ErrTLS, x509.CertificateInvalidError{Reason: x509.Expired}},
		{fetch.ErrTLS, x509.UnknownAuthorityError{}},
		{fetch.ErrTLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
		{fetch.ErrTLS, alert(40)}, {fetch.ErrTLS, alert(42)}, {fetch.ErrTLS, alert(48)}, {fetch.ErrTLS, alert(70)},
		{fetch.ErrTLS, alert(116)},
		{fetch.ErrNetwork, &net.DNSError{Err: "no such host", Name: "h.example"}},
		{fetch.ErrNetwork, os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		{fetch.ErrNetwork, os.NewSyscallError("connect", syscall.ENETUNREACH)},
		{fetch.ErrNetwork, errors.New("no complete response within 2s")},
		{fetch.ErrFile, crawl.ErrInUse}, {fetch.ErrFile, file(syscall.ENOSPC)}, {fetch.ErrFile, file(syscall.ENOENT)},
		{fetch.ErrProtocol, errors.New(`malformed reply: "SSH-2.0-OpenSSH_9.2"`)},
	} {
		row("cause of "+string(cause.code), &fetch.Error{Code: cause.code, Err: cause.err})
	}
	const name = "testdata/messages"
	if os.Getenv("URLGET_WRITE") != "" {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != b.String() {
		t.Errorf("%v: to update %s, run URLGET_WRITE=1 go test ./cmd/urlget\n%s", err, name, b.String())
	}
}
