package fetch

import (
	"context"
	"math"
	"net/textproto"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/uri"
)

// defaultMaxRedirects is used if Options.MaxRedirects is 0.
const defaultMaxRedirects = 10

func (c *Client) maxHops() int32 {
	switch n := c.opts.MaxRedirects; {
	case c.opts.NoRedirects:
		return 0
	case n == 0:
		return defaultMaxRedirects
	case n < 0:
		return math.MaxInt32
	default:
		return int32(min(n, math.MaxInt32))
	}
}

// A hopCount limits the exchanges that a user's request may lead to: redirects, and URLs that
// drivers open.
type hopCount struct {
	hops atomic.Int32
	max  int32
}

func (h *hopCount) add() error {
	if h.hops.Add(1) > h.max {
		return ErrRedirect.Errorf("more than %d redirects", h.max)
	}
	return nil
}

// follow performs req and follows redirects. The policy is applied to each hop. Before is the
// exchange of the driver that opened req, or nil.
func (c *Client) follow(ctx context.Context, req *Request, hops *hopCount,
	before *provenance) (*Response, error) {
	op := req.Op.String()
	p, err := c.prepare(req, hops, before)
	if err != nil {
		closeBody(req)
		return nil, asError(op, req.URL, err)
	}
	var via []uri.URI
	var linked []Digest // stated by redirects for the resource at the end
	for {
		resp, rec, err := c.attempt(ctx, op, p)
		if err != nil {
			return nil, err
		}
		if !p.before.IsZero() {
			via = append(via, p.before)
		}
		if p.gateway {
			via = append(via, p.original)
		}
		if resp.URL.IsZero() {
			resp.URL = p.req.URL
		}
		rec.response(resp)
		if len(resp.Location) == 0 {
			resp.Via = append(via, resp.Via...)
			if !resp.Decoded {
				resp.Digests = append(resp.Digests, linked...)
			}
			if err := c.opts.TextLineEnds.check(resp); err != nil {
				resp.Body.Close()
				e := asError(op, resp.URL, err)
				rec.end(e)
				return nil, e
			}
			c.guard(ctx, resp, p, rec)
			c.opts.TextLineEnds.apply(resp)
			return resp, nil
		}
		linked = append(linked, resp.Digests...)
		resp.Body.Close()
		rec.end(nil)
		if err := hops.add(); err != nil {
			e := asError(op, resp.URL, err)
			e.Reply = resp.Reply
			return nil, e
		}
		via = append(via, resp.URL)
		if p, err = c.choose(resp, p, hops); err != nil {
			return nil, err
		}
		if accept := p.req.Redirect; accept != nil {
			if err := accept(p.original); err != nil {
				e := asError(op, resp.URL, err)
				e.Reply, e.Header = resp.Reply, resp.Header
				return nil, e
			}
		}
		c.logger.Debug("redirect", "from", resp.URL.Redacted(), "to", p.original.Redacted())
	}
}

// attempt performs one exchange until the response header. If it fails, attempt ends the recording
// and returns the error for the caller.
func (c *Client) attempt(ctx context.Context, op string, p *preparedRequest) (resp *Response,
	rec *recording, err error) {
	q, err := c.withRange(ctx, p)
	if err == nil {
		q, err = q.withBody()
	}
	if err == nil {
		resp, rec, err = c.begin(ctx, q)
	}
	if err == nil {
		return resp, rec, nil
	}
	if q == nil {
		q = p
	}
	closeBody(q.req)
	e := asError(op, p.req.URL, contextError(ctx, err))
	rec.end(e)
	return nil, nil, c.limitErrorBody(e)
}

// choose prepares a request for the first of resp.Location that has a driver and is allowed by the
// policy. If there is none, it returns the error for the first location.
func (c *Client) choose(resp *Response, before *preparedRequest, hops *hopCount) (*preparedRequest, error) {
	var first error
	for _, loc := range resp.Location {
		to, _ := c.upgrade(resp.URL.Resolve(loc)) // first, because it decides about secrets
		next := redirected(before.req, resp.URL, to)
		err := resend(next, resp)
		var p *preparedRequest
		if err == nil {
			p, err = c.prepare(next, hops, before.prov)
		}
		if err == nil && p.scheme.Driver == nil {
			err = unknownScheme(p.req.URL.Scheme())
		}
		if err == nil {
			from, _ := c.registry.Lookup(resp.URL.Scheme())
			err = c.policy.checkRedirect(resp.URL, p.req.URL, from, p.scheme)
		}
		if err == nil {
			return p, nil
		}
		if first == nil {
			e := asError(next.Op.String(), next.URL, err)
			e.Reply = resp.Reply
			first = e
		}
	}
	return nil, first
}

// redirected returns a copy of req for loc, a redirect from the URL from.
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
	if from.Origin() == next.URL.Origin() {
		if _, ok := next.URL.User(); !ok {
			next.URL = next.URL.WithUserinfoOf(from)
		}
	} else {
		next.Header, next.Form = redirectedHeader(req.Header, from.IsSecure() && !next.URL.IsSecure()), nil
	}
	return &next
}

// redirectedHeader returns the fields of h that may be sent to another origin. Toward plaintext, these
// are only fields without secrets: the name of another field, such as X-Api-Key, does not tell.
func redirectedHeader(h textproto.MIMEHeader, plaintext bool) textproto.MIMEHeader {
	if h == nil {
		return nil
	}
	dup := make(textproto.MIMEHeader, len(h))
	for k, v := range h {
		switch textproto.CanonicalMIMEHeaderKey(k) {
		case "Authorization", "Cookie", "Cookie2", "Host", "Proxy-Authorization", "Referer":
			continue
		case "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Dnt", "User-Agent":
		default:
			if plaintext {
				continue
			}
		}
		dup[k] = v
	}
	return dup
}
