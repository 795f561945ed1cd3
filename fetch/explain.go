package fetch

import (
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch/uri"
)

// An Explanation says what a client would do for a request.
type Explanation struct {
	URL     uri.URI
	Gateway uri.URI // where a gateway serves URL; zero if none
	Proxy   uri.URI // zero if none
	Relayed bool    // the proxy retrieves the URL itself
	Scheme  Scheme  // of the driver that would be asked; zero if there is none
	Address string  // "host:port" to connect to; "" if there is no connection
	// Credentials says where the user and password would come from; "" if
	// nothing is known that would be used.
	Credentials string
	Refused     error    // what the policy says against it; nil if nothing
	Steps       []string // protocol steps; nil if the driver cannot tell
}

// Explain tells what Do would do for req, without sending anything. The error
// is what Do would fail with before it sends anything, unless that is the
// policy's verdict, which is in the Explanation.
func (c *Client) Explain(req *Request) (*Explanation, error) {
	x := &Explanation{URL: req.URL}
	p, err := c.prepare(req, &hopCount{max: c.maxHops()})
	if CodeOf(err) == ErrPolicy {
		x.Refused = asError(req.Op.String(), req.URL, err)
		p = &prepared{req: req, asked: req.URL, prov: c.provenance(req, nil)}
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
	x.Proxy, x.Relayed = p.prov.proxy.url, p.prov.proxy.relay
	if host := p.req.URL.Host(); host != "" {
		if port := p.req.URL.Port(p.scheme.Port); port != 0 {
			x.Address = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
	}
	x.Credentials = c.credentialSource(p.req)
	if d, ok := p.scheme.Driver.(Explainer); ok {
		if x.Steps, err = d.Explain(p.req); err != nil {
			return x, asError(req.Op.String(), p.req.URL, err)
		}
	}
	return x, nil
}

func (c *Client) credentialSource(req *Request) string {
	user, hasUser := req.URL.User()
	if _, ok := req.URL.Password(); ok {
		return "URL"
	}
	if s, ok := c.opts.Credentials.(CredentialSource); ok {
		ch := Challenge{URL: req.URL, From: req.From, User: user, Attempt: 1}
		if where := s.Source(ch); where != "" {
			return where
		}
	}
	if hasUser {
		return "URL (user name only)"
	}
	return ""
}
