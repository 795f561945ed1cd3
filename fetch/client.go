package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

// A Client retrieves resources by URL. It chooses a driver by scheme, applies
// policy, follows redirects and checks that streams end properly. It is safe
// for concurrent use and should be kept, because drivers pool connections.
// Errors from its methods are of type *Error.
type Client struct {
	opts     Options
	policy   *Policy
	timeouts Timeouts
	logger   *slog.Logger
	proxy    func(uri.URI) (uri.URI, error)
	gateways []gateway
	registry Registry
	exchange Driver // the registry behind the middleware

	// private remembers the hosts that were found at private addresses, by
	// name: what they lead to is not held against them.
	private sync.Map
}

// New returns a client with the schemes that the loaders register. Nil opts
// means the documented defaults. New does no I/O. It panics if two loaders
// register the same scheme.
func New(opts *Options, load ...Loader) *Client {
	c := &Client{}
	if opts != nil {
		c.opts = *opts
	}
	c.policy = c.opts.Policy
	if c.policy == nil {
		c.policy = &Policy{}
	}
	c.timeouts = c.opts.Timeouts.withDefaults()
	c.logger = c.opts.Logger
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.proxy = c.opts.Proxy
	if c.proxy == nil {
		c.proxy = ProxyFromEnvironment
	}
	if c.opts.Identity.UserAgent == "" {
		c.opts.Identity.UserAgent = "urlget"
	}
	if c.opts.Identity.Email == "" {
		c.opts.Identity.Email = "urlget@"
	}
	c.gateways = sortedGateways(c.opts.Gateways)
	env := &Env{client: c}
	for _, l := range load {
		l(env, &c.registry)
	}
	c.exchange = &c.registry
	for i := len(c.opts.Middleware) - 1; i >= 0; i-- {
		c.exchange = c.opts.Middleware[i](c.exchange)
	}
	return c
}

// Get opens the resource rawURL names. If err is nil, the caller must close
// Response.Body.
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	return c.parseAndDo(ctx, OpGet, rawURL)
}

// Stat returns what can be learned without the content. If the driver has no
// OpStat, it opens and closes the resource.
func (c *Client) Stat(ctx context.Context, rawURL string) (*Meta, error) {
	resp, err := c.parseAndDo(ctx, OpStat, rawURL)
	if errors.Is(err, errors.ErrUnsupported) {
		resp, err = c.parseAndDo(ctx, OpGet, rawURL)
	}
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	return &resp.Meta, nil
}

// List yields the members of a directory, menu or newsgroup, as they arrive.
// An error ends the sequence.
func (c *Client) List(ctx context.Context, rawURL string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		resp, err := c.parseAndDo(ctx, OpList, rawURL)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer resp.Body.Close()
		if resp.Entries == nil {
			yield(Entry{}, asError(OpList.String(), resp.URL, &Error{Code: ErrNotRetrievable,
				Err: fmt.Errorf("%s is not a listing: %w", resp.Kind, errors.ErrUnsupported)}))
			return
		}
		resp.Entries(yield)
	}
}

// Dial starts an interactive session, for schemes such as telnet. The caller
// must close it.
func (c *Client) Dial(ctx context.Context, rawURL string) (*Session, error) {
	resp, err := c.parseAndDo(ctx, OpDial, rawURL)
	if err != nil {
		return nil, err
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return nil, asError(OpDial.String(), resp.URL, &Error{Code: ErrProtocol,
			Err: errors.New("the driver returned no session")})
	}
	user, _ := resp.URL.User()
	password, _ := resp.URL.Password()
	return &Session{ReadWriteCloser: rw, User: user, Password: password, Meta: resp.Meta}, nil
}

func (c *Client) parseAndDo(ctx context.Context, op Op, rawURL string) (*Response, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		return nil, &Error{Op: op.String(), Code: ErrURL, Err: err}
	}
	return c.Do(ctx, &Request{URL: u, Op: op})
}

// Do performs req, following redirects. If err is nil, the caller must close
// Response.Body. The context bounds the reading of Body too.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	return c.follow(ctx, req, &hopCount{max: c.maxHops()})
}

// Schemes returns the registered schemes, sorted by name.
func (c *Client) Schemes() []Scheme { return c.registry.Schemes() }

// Scheme returns the scheme with that lower-case name. Those that are found by
// a prefix of their name are not among Schemes.
func (c *Client) Scheme(name string) (Scheme, bool) { return c.registry.Lookup(name) }

// Close closes idle connections; open bodies stay valid.
func (c *Client) Close() error {
	for _, s := range c.registry.schemes {
		if d, ok := s.Driver.(IdleCloser); ok {
			d.CloseIdleConnections()
		}
	}
	return nil
}

// prepared is a request on its way to a driver.
type prepared struct {
	req     *Request
	asked   uri.URI // what req is for; not req.URL if a gateway serves it
	prov    *provenance
	scheme  Scheme
	gateway bool // a gateway serves it
}

// prepare applies policy and chooses gateway, proxy and driver for one
// exchange. Nothing is sent.
func (c *Client) prepare(req *Request, hops *hopCount) (*prepared, error) {
	p := &prepared{req: req, asked: req.URL, prov: c.provenance(req, hops)}
	p.scheme, _ = c.registry.Lookup(req.URL.Scheme())
	if err := c.policy.checkURL(p.prov, p.scheme); err != nil {
		return nil, err
	}
	target, ok, err := c.throughGateway(req.URL)
	if err != nil {
		return nil, err
	}
	if ok {
		// The user named the gateway, so it is not of remote provenance.
		dup := *req
		dup.URL, dup.From = target, uri.URI{}
		p.req, p.gateway, p.prov = &dup, true, c.provenance(&dup, hops)
		p.scheme, _ = c.registry.Lookup(target.Scheme())
		if err := c.policy.checkURL(p.prov, p.scheme); err != nil {
			return nil, err
		}
	}
	if p.scheme.Driver != nil {
		if p.prov.proxy, err = c.chooseProxy(p.req, p.scheme); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c *Client) provenance(req *Request, hops *hopCount) *provenance {
	p := &provenance{url: req.URL, from: req.From, hops: hops}
	if !req.From.IsZero() {
		s, _ := c.registry.Lookup(req.From.Scheme())
		p.fromLocal = s.Local
		p.publicOnly = !s.Local && !c.hostIsPrivate(req.From.Host())
	}
	return p
}

// hostIsPrivate reports whether host was reached at a private address, or is
// one.
func (c *Client) hostIsPrivate(host string) bool {
	if _, ok := c.private.Load(host); ok || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && isPrivate(addr)
}

// learn remembers what kind of address addr, "host:port", was reached at.
func (c *Client) learn(addr string, peer net.Addr) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return
	}
	ap, err := netip.ParseAddrPort(peer.String())
	switch {
	case err != nil:
	case isPrivate(ap.Addr()):
		c.private.Store(host, struct{}{})
	default:
		c.private.Delete(host)
	}
}

// open performs one exchange.
func (c *Client) open(ctx context.Context, p *prepared) (*Response, error) {
	return c.exchange.Open(withProvenance(ctx, p.prov), p.req)
}
