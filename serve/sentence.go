package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// sentenceOf returns the cause of an error and one next step, for readers who know no protocol, or ""
// if the message of the error says it best.
func sentenceOf(err error, typed bool) string {
	var e *fetch.Error
	var dns *net.DNSError
	var network net.Error
	switch {
	case typed && fetch.CodeOf(err) == fetch.ErrURL:
		return "This is not a URL. Correct it: a URL has no spaces, as in gopher://gopher.example/."
	case errors.As(err, &dns) && dns.IsNotFound:
		return "There is no host named " + fetch.Printable(dns.Name) + ". Check the spelling."
	case errors.As(err, &dns):
		return "The name server did not answer. Check the network connection, then try again."
	case errors.As(err, &e) && e.Code == fetch.ErrBusy && e.RetryAfter > 0:
		return "The server is busy. Try again in " + e.RetryAfter.String() + "."
	case fetch.CodeOf(err) != fetch.ErrNetwork:
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The host refuses connections on this port. Check the port, or try again later."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "There is no route to the host. Check the network connection, then try again."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "The host did not answer in time. Try again later."
	case errors.Is(err, syscall.ECONNRESET):
		return "The host closed the connection. Try again later."
	}
	return ""
}

// secure returns the text of and the link to the same resource in the scheme with TLS, at its default
// port, or "" if there is no such scheme.
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
