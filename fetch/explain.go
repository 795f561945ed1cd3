package fetch

import (
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// An Explanation describes what a client would do for a request.
type Explanation struct {
	URL          uri.URI
	Gateway      uri.URI // URL of the gateway that serves URL; zero if none
	Proxy        uri.URI // zero if none
	ForwardProxy bool    // the proxy retrieves the URL itself
	Scheme       Scheme  // of the driver that would be used; zero if there is none
	Address      string  // "host:port" to connect to; "" if there is no connection
	// Credentials says where user and password would come from; "" if no source is known to have
	// any.
	Credentials string
	Refused     error    // the policy's objection, or nil
	Steps       []string // protocol steps; nil if the driver does not explain them
	// Expected is what the driver's Expect tells of a request for content; nil if that is nothing.
	Expected *Meta
}

// Explain reports what Do would do for req, without sending anything. The error is what Do would
// fail with before sending anything, except that a refusal by the policy is part of the
// Explanation.
func (c *Client) Explain(req *Request) (*Explanation, error) {
	x := &Explanation{URL: req.URL}
	p, err := c.prepare(req, &hopCount{max: c.maxHops()}, nil)
	if CodeOf(err) == ErrPolicy {
		x.Refused = asError(req.Op.String(), req.URL, err)
		p = &prepared{req: req, asked: req.URL, prov: c.provenance(req, nil, nil)}
		p.scheme, _ = c.registry.Lookup(req.URL.Scheme())
	} else if err != nil {
		return nil, asError(req.Op.String(), req.URL, err)
	}
	x.Scheme = p.scheme
	if p.gateway {
		x.Gateway = p.req.URL
	}
	if p.scheme.Driver == nil {
		return x, asError(req.Op.String(), req.URL, unknownScheme(p.req.URL.Scheme()))
	}
	if !serves(p.scheme, p.req.Op) {
		return x, asError(req.Op.String(), p.req.URL, refuseOp(p.scheme, p.req.Op))
	}
	x.Proxy, x.ForwardProxy = p.prov.proxy.url, p.prov.proxy.forward
	if host := p.req.URL.Host(); host != "" {
		if port := p.req.URL.Port(p.scheme.Port); port != 0 {
			x.Address = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
	}
	x.Credentials = c.credentialSource(p.req, p.prov.foreign)
	if d, ok := p.scheme.Driver.(driver.Expecter); ok && p.req.Op == OpGet {
		if m, ok := d.Expect(p.req); ok {
			x.Expected = &m
		}
	}
	if d, ok := p.scheme.Driver.(driver.Explainer); ok {
		req := *p.req
		if req.Range.Offset < 0 && !p.scheme.RangeSets {
			req.Range = Range{} // it depends on the size
		}
		if x.Steps, err = d.Explain(&req); err != nil {
			return x, asError(req.Op.String(), p.req.URL, err)
		}
	}
	return x, nil
}

func (c *Client) credentialSource(req *Request, foreign bool) string {
	user, hasUser := req.URL.User()
	if _, ok := req.URL.Password(); ok {
		return "URL"
	}
	if s, ok := c.opts.Credentials.(CredentialSource); ok {
		ch := Challenge{URL: req.URL, From: req.From, Foreign: foreign, User: user, Attempt: 1}
		if where := s.Source(ch); where != "" {
			return where
		}
	}
	if hasUser {
		return "URL (user name only)"
	}
	return ""
}
