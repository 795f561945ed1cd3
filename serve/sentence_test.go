package serve_test

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
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
	start(t).open("the weather in rome").want(t, http.StatusBadRequest, "This is not a URL.",
		"<summary>Details</summary><p>malformed URL: space in the host</p>")
	dial := func(err error) error {
		return &fetch.Error{Code: fetch.ErrNetwork, Err: &net.OpError{Op: "dial", Err: err}}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{dial(&net.DNSError{Name: "h.invalid", IsNotFound: true}), "There is no host named h.invalid. Check the spelling."},
		{dial(&net.DNSError{Name: "h.invalid", IsTimeout: true}),
			"The name server did not answer. Check the network connection, then try again."},
		{dial(syscall.ECONNREFUSED), "The host refuses connections on this port. Check the port, or try again later."},
		{dial(syscall.ENETUNREACH), "There is no route to the host. Check the network connection, then try again."},
		{dial(context.DeadlineExceeded), "The host did not answer in time. Try again later."},
		{dial(syscall.ECONNRESET), "The host closed the connection. Try again later."},
		{&fetch.Error{Code: fetch.ErrBusy, RetryAfter: 30 * time.Second}, "The server is busy. Try again in 30s."},
		{&fetch.Error{Code: fetch.ErrBusy}, ""},
		{&fetch.Error{Code: fetch.ErrNotFound}, ""},
	} {
		if got := serve.SentenceOf(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
