package serve

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// sentenceOf returns the cause of an error and one next step, for readers who know no protocol, or "" if
// the message of the error says it best. u is zero if the user typed something else than a URL.
func sentenceOf(err error, u uri.URI) (cause, advice string) {
	host := cmp.Or(fetch.Printable(u.Host()), "The server")
	var e *fetch.Error
	var dns *net.DNSError
	var network net.Error
	switch code := fetch.CodeOf(err); {
	case u.IsZero() && code == fetch.ErrURL:
		return "This is not a URL", "Correct it: a URL has no spaces, as in gopher://gopher.example/."
	case errors.As(err, &dns) && dns.IsNotFound:
		return "There is no host named " + fetch.Printable(dns.Name),
			"A letter may be wrong, or the server is gone. Check the spelling."
	case errors.As(err, &dns):
		return "The name server did not answer", "Check the network connection, then try again."
	case errors.Is(err, replay.ErrNoCapture):
		return "This page is not in the archive", "See what the archive has from " + host + "."
	case errors.As(err, &e) && code == fetch.ErrBusy && e.RetryAfter > 0:
		return host + " is busy", "Try again in " + e.RetryAfter.String() + "."
	case code == fetch.ErrBusy:
		return host + " is busy", "Try again later."
	case code == fetch.ErrNotFound:
		return host + " does not have this page",
			"It may have moved. Check the spelling, or go up and look for it."
	case code == fetch.ErrServer:
		return host + " has a problem of its own", "Try again later."
	case code == fetch.ErrProtocol:
		return "The response of " + host + " makes no sense",
			"Check the scheme and the port, or try again later."
	case code != fetch.ErrNetwork:
		return "", ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refuses connections on this port", "Check the port, or try again later."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "There is no route to " + host, "Check the network connection, then try again."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return host + " did not answer in time", "Try again later."
	case errors.Is(err, syscall.ECONNRESET):
		return host + " closed the connection", "Try again later."
	}
	return "", ""
}

func (p *page) secure() (text, link string) {
	u := p.address.url
	for _, scheme := range p.s.Client.Schemes() {
		if scheme.Name != u.Scheme()+"s" || !scheme.Retrieves() {
			continue
		}
		parts := uri.Parts{Scheme: scheme.Name, Login: u.WithoutPassword().Userinfo(), Host: u.Host(),
			Path: u.Path()}
		if query, ok := u.Query(); ok {
			parts.Query = "?" + query
		}
		a := p.address
		var err error
		if a.url, err = parts.URI(); err == nil {
			return a.url.Redacted(), p.s.link("/view", a)
		}
	}
	return "", ""
}
