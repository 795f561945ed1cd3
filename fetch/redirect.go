package fetch

import (
	"context"
	"fmt"
	"net/textproto"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/uri"
)

// defaultMaxRedirects is what MaxRedirects 0 means.
const defaultMaxRedirects = 10

func (c *Client) maxHops() int32 {
	switch n := c.opts.MaxRedirects; {
	case n == 0:
		return defaultMaxRedirects
	default:
		return int32(max(n, 0))
	}
}

// A hopCount bounds the exchanges that one request of the user leads to:
// redirects and what drivers open on the way.
type hopCount struct {
	taken atomic.Int32
	max   int32
}

func (h *hopCount) take() error {
	if h.taken.Add(1) > h.max {
		return &Error{Code: ErrRedirect, Err: fmt.Errorf("more than %d redirects", h.max)}
	}
	return nil
}

// follow performs req and goes where the answers lead. Each hop starts again
// at the policy.
func (c *Client) follow(ctx context.Context, req *Request, hops *hopCount) (*Response, error) {
	op := req.Op.String()
	p, err := c.prepare(req, hops)
	if err != nil {
		return nil, asError(op, req.URL, err)
	}
	var via []uri.URI
	for {
		resp, err := c.open(ctx, p)
		if err != nil {
			return nil, asError(op, p.req.URL, contextError(ctx, err))
		}
		if p.gateway {
			via = append(via, p.asked)
		}
		if resp.URL.IsZero() {
			resp.URL = p.req.URL
		}
		if len(resp.Location) == 0 {
			resp.Via = append(via, resp.Via...)
			c.guard(ctx, resp, op)
			return resp, nil
		}
		resp.Body.Close()
		if err := hops.take(); err != nil {
			e := asError(op, resp.URL, err)
			e.Reply = resp.Reply
			return nil, e
		}
		via = append(via, resp.URL)
		if p, err = c.choose(resp, p.req, hops); err != nil {
			return nil, err
		}
		c.logger.Debug("redirect", "from", resp.URL.Redacted(), "to", p.asked.Redacted())
	}
}

// choose prepares the request for the first place in resp.Location that there
// is a driver for and the policy lets us go to. If there is none, the error
// is that of the first place.
func (c *Client) choose(resp *Response, req *Request, hops *hopCount) (*prepared, error) {
	var first error
	for _, loc := range resp.Location {
		next := redirected(req, resp.URL, loc)
		p, err := c.prepare(next, hops)
		if err == nil && p.scheme.Driver == nil {
			err = unknownScheme(p.req.URL.Scheme())
		}
		if err == nil {
			return p, nil
		}
		if first == nil {
			e := asError(req.Op.String(), next.URL, err)
			e.Reply = resp.Reply
			first = e
		}
	}
	return nil, first
}

// redirected is req sent on to loc by from.
func redirected(req *Request, from, loc uri.URI) *Request {
	next := *req
	next.URL = from.Resolve(loc)
	if _, ok := next.URL.Fragment(); !ok {
		if f, ok := from.Fragment(); ok {
			if u, err := uri.Parse(next.URL.String() + "#" + f); err == nil { // RFC 9110, section 10.2.2
				next.URL = u
			}
		}
	}
	next.From = from
	if sameOrigin(from, next.URL) {
		if _, ok := next.URL.User(); !ok {
			next.URL = next.URL.WithUserinfoOf(from)
		}
	} else {
		next.Header, next.Form = withoutSecrets(req.Header), nil
	}
	return &next
}

func sameOrigin(a, b uri.URI) bool {
	return a.Scheme() == b.Scheme() && a.Host() == b.Host() && a.Port(0) == b.Port(0)
}

// withoutSecrets returns a copy of h for another origin.
func withoutSecrets(h textproto.MIMEHeader) textproto.MIMEHeader {
	if h == nil {
		return nil
	}
	dup := make(textproto.MIMEHeader, len(h))
	for k, v := range h {
		switch textproto.CanonicalMIMEHeaderKey(k) {
		case "Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "Referer":
		default:
			dup[k] = v
		}
	}
	return dup
}
