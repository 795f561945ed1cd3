package fetch

import (
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch/uri"
)

// An Explanation describes how a client would perform a request.
type Explanation struct {
	URL          uri.URI
	Upgraded     uri.URI // the URL that is retrieved instead (see Upgrader); zero if none
	Gateway      uri.URI // the gateway's URL that is retrieved instead; zero if none
	Proxy        uri.URI // zero if none
	ForwardProxy bool    // the proxy retrieves the URL itself
	Scheme       Scheme  // the scheme of the driver; zero if there is none
	Address      string  // "host:port" to connect to; "" if there is none, or if a proxy retrieves the URL
	// Credentials names the source of user and password; "" if no source is known to have any.
	Credentials string
	Refused     error    // error of the policy that refuses the request, or nil
	Steps       []string // protocol steps; nil if the driver does not explain them
	// Expected is the result of the driver's Expect for OpGet; nil if there is none.
	Expected *Meta
}

// Explain reports how Do would perform req, without any I/O. It returns the error that Do would
// return before it contacts a server, except that a refusal by the policy is reported in
// Explanation.Refused.
func (c *Client) Explain(req *Request) (*Explanation, error) {
	x := &Explanation{URL: req.URL}
	p, err := c.prepare(req, &hopCount{max: c.maxHops()}, nil)
	if CodeOf(err) == ErrPolicy {
		x.Refused = asError(req.Op.String(), req.URL, err)
		p = &preparedRequest{req: req, original: req.URL, prov: new(provenance)}
		c.setProvenance(p.prov, req, nil, nil)
		p.scheme, _ = c.registry.Lookup(req.URL.Scheme())
	} else if err != nil {
		return nil, asError(req.Op.String(), req.URL, err)
	}
	x.Scheme = p.scheme
	if !p.before.IsZero() {
		x.Upgraded = p.original
	}
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
	if x.ForwardProxy {
		proxy, _ := c.registry.Lookup(x.Proxy.Scheme())
		if d, ok := proxy.Driver.(forwardExplainer); ok {
			if x.Steps, err = d.ExplainForwarded(p.req, x.Proxy); err != nil {
				return x, asError(req.Op.String(), p.req.URL, err)
			}
		}
		x.Credentials = c.credentialSource(p.req, p.prov.foreign)
		return x, nil
	}
	if host := p.req.URL.Host(); host != "" {
		if port := p.req.URL.Port(p.scheme.Port); port != 0 {
			x.Address = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
	}
	x.Credentials = c.credentialSource(p.req, p.prov.foreign)
	if d, ok := p.scheme.Driver.(Expecter); ok && p.req.Op == OpGet {
		if m, ok := d.Expect(p.req); ok {
			x.Expected = &m
		}
	}
	if d, ok := p.scheme.Driver.(Explainer); ok {
		req := *p.req
		if req.Range.Offset < 0 && !p.scheme.RangeSets {
			req.Range = Range{} // it depends on the size
		}
		if _, ok := req.URL.User(); !ok && x.Credentials != "" && req.URL.HasAuthority() {
			if u, err := req.URL.WithUser(unknownUser); err == nil {
				req.URL = u
			}
		}
		if x.Steps, err = d.Explain(&req); err != nil {
			return x, asError(req.Op.String(), p.req.URL, err)
		}
	}
	return x, nil
}

// unknownUser stands for the user name in the steps of an explanation. Only a request reads it from the
// source of the credentials.
const unknownUser = "<name>"

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
