package serve_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/serve"
)

func TestPlaintextLoginsLeadToTheSecureScheme(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{})
	u := start(t)
	p := u.open("imap://" + s.Addr + "/INBOX")
	p.want(t, http.StatusForbidden, "Open imaps://127.0.0.1/INBOX</a>")
	p.find(t, "/view?", "u=imaps://127.0.0.1/INBOX")
	p.without(t, `action="/login"`)
}

func TestErrorsAreSentences(t *testing.T) {
	t.Parallel()
	p := start(t).open("the weather in rome")
	p.want(t, http.StatusBadRequest, "<h1>This is not a URL</h1>", "<summary>Details</summary><p>malformed URL: space in the host</p>")
	p.without(t, `class="wrong"`)
	dial := func(err error) error {
		return &fetch.Error{Code: fetch.ErrNetwork, Err: &net.OpError{Op: "dial", Err: err}}
	}
	for _, tt := range []struct {
		err           error
		cause, advice string
	}{
		{dial(&net.DNSError{Name: "h.invalid", IsNotFound: true}), "There is no host named h.invalid", "Check the spelling."},
		{dial(&net.DNSError{Name: "h.invalid", IsTimeout: true}), "The name server did not answer", "Check the network connection, then try again."},
		{dial(syscall.ECONNREFUSED), "h.example refuses connections on this port", "Check the port, or try again later."},
		{dial(syscall.ENETUNREACH), "There is no route to h.example", "Check the network connection, then try again."},
		{dial(context.DeadlineExceeded), "h.example did not answer in time", "Try again later."},
		{dial(syscall.ECONNRESET), "h.example closed the connection", "Try again later."},
		{dial(errors.New("x")), "", ""},
		{&fetch.Error{Code: fetch.ErrBusy, RetryAfter: 30 * time.Second}, "h.example is busy", "Try again in 30s."},
		{&fetch.Error{Code: fetch.ErrBusy}, "h.example is busy", "Try again later."},
		{&fetch.Error{Code: fetch.ErrNotFound}, "h.example does not have this page", "go up"},
		{&fetch.Error{Code: fetch.ErrServer}, "h.example has a problem of its own", "Try again later."},
		{&fetch.Error{Code: fetch.ErrNotFound, Err: replay.ErrNoCapture}, "This page is not in the archive", "See what the archive has from h.example."},
		{&fetch.Error{Code: fetch.ErrPolicy}, "", ""}, // the message says it best
	} {
		cause, advice := serve.SentenceOf(tt.err, uri.MustParse("gopher://h.example/1/x"))
		if cause != tt.cause || !strings.Contains(advice, tt.advice) {
			t.Errorf("%v: %q, %q, want %q, %q", tt.err, cause, advice, tt.cause, tt.advice)
		}
	}
}

func TestErrorPagesLeadOn(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{}})
	u := start(t)
	p := u.open(g.URL + "/0/absent")
	p.want(t, http.StatusNotFound, `<p class="kicker">Not found</p>`, "<h1>127.0.0.1 does not have this page</h1>", "<summary>Details</summary>", ">Try again</a>", ">Edit the address</a>")
	p.without(t, "Look in the archive")
}
