package fetch

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/bounded"
)

// A Client retrieves resources by URL. It chooses a driver by scheme, applies the policy, follows
// redirects and checks that bodies are complete. It is safe for concurrent use and should be
// reused, because drivers pool connections. Errors returned by its methods have the type *Error.
type Client struct {
	opts     Options
	policy   *Policy
	timeouts Timeouts
	logger   *slog.Logger
	gateways []gateway
	registry Registry
	exchange Driver            // the registry, wrapped in the middleware
	environ  map[string]string // proxy variables of the environment

	// private and public record hosts ("host:port") by the kind of address they were reached at,
	// because resources on private addresses may lead to other private addresses. A host that was
	// ever found on a public address is not in private.
	private, public *bounded.Set[string]

	// takenLogins and refusedLogins record proxies, with their logins, that took the login once or only
	// refused it.
	takenLogins, refusedLogins *bounded.Set[string]
}

// maxPlaces limits the number of recorded hosts. A private host that was evicted is subject to the
// stricter rules until it is contacted again.
const maxPlaces = 4096

// New returns a Client for the schemes that the loaders register. If opts is nil, New uses the
// defaults. New does no I/O. It panics if two loaders register the same scheme.
func New(opts *Options, load ...Loader) *Client {
	c := &Client{private: bounded.NewSet[string](maxPlaces), public: bounded.NewSet[string](maxPlaces),
		takenLogins:   bounded.NewSet[string](maxProxyLogins),
		refusedLogins: bounded.NewSet[string](maxProxyLogins)}
	if opts != nil {
		c.opts = *opts
	}
	if o := c.opts.Places; o != nil {
		c.private, c.public = o.private, o.public
	}
	c.policy = c.opts.Policy
	if c.policy == nil {
		c.policy = &Policy{}
	}
	c.timeouts = withDefaults(c.opts.Timeouts)
	c.logger = c.opts.Logger
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.opts.Identity.UserAgent == "" {
		c.opts.Identity.UserAgent = "urlget"
	}
	if c.opts.Identity.Email == "" {
		c.opts.Identity.Email = "urlget@"
	}
	c.gateways, c.environ = sortedGateways(c.opts.Gateways), proxyVariables()
	env := &env{client: c}
	for _, l := range load {
		l(env, &c.registry)
	}
	c.exchange = DriverFunc(c.dispatch)
	for i := len(c.opts.Middleware) - 1; i >= 0; i-- {
		c.exchange = c.opts.Middleware[i](c.exchange)
	}
	return c
}

// Get opens the resource at rawURL. If err is nil, the caller must close Response.Body.
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	return c.parseAndDo(ctx, OpGet, rawURL)
}

// Stat returns the metadata of a resource without its content. It ignores req.Op. The response has
// no content and need not be closed. If the driver does not support OpStat, Stat opens the resource
// and closes it again.
func (c *Client) Stat(ctx context.Context, req *Request) (*Response, error) {
	dup := *req
	dup.Op = OpStat
	resp, err := c.Do(ctx, &dup)
	if errors.Is(err, errors.ErrUnsupported) {
		dup.Op = OpGet
		resp, err = c.Do(ctx, &dup)
	}
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body, resp.Entries, resp.Parse = NoBody, nil, nil
	return resp, nil
}

// List yields the entries of a directory, menu or newsgroup as they arrive. An error ends the
// sequence.
func (c *Client) List(ctx context.Context, rawURL string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		resp, err := c.parseAndDo(ctx, OpList, rawURL)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer resp.Body.Close()
		if resp.Entries == nil {
			yield(Entry{}, notAListing(resp))
			return
		}
		resp.Entries(yield)
	}
}

func notAListing(resp *Response) error {
	return asError(OpList.String(), resp.URL,
		ErrNotRetrievable.Errorf("%s is not a listing: %w", resp.Kind, errors.ErrUnsupported))
}

// Dial starts an interactive session, for schemes such as telnet. The caller must close the
// Session.
func (c *Client) Dial(ctx context.Context, rawURL string) (*Session, error) {
	resp, err := c.parseAndDo(ctx, OpDial, rawURL)
	if err != nil {
		return nil, err
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return nil, asError(OpDial.String(), resp.URL, ErrProtocol.Errorf("the driver returned no session"))
	}
	user, _ := resp.URL.User()
	password, _ := resp.URL.Password()
	return &Session{ReadWriteCloser: rw, User: user, Password: password, Meta: resp.Meta}, nil
}

func (c *Client) parseAndDo(ctx context.Context, op Op, rawURL string) (*Response, error) {
	u, err := parse(op, rawURL)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, &Request{URL: u, Op: op})
}

// parse calls uri.Parse and returns errors of type *Error.
func parse(op Op, rawURL string) (uri.URI, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		e := &Error{Op: op.String(), Code: ErrURL, Err: err}
		if bad, ok := errors.AsType[*uri.Error](err); ok {
			e.URL = Printable(bad.Input)
		}
		return u, e
	}
	return u, nil
}

// Do performs req and follows redirects. If err is nil, the caller must close Response.Body. The
// context also governs reads from Body.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	resp, err := c.follow(ctx, req, &hopCount{max: c.maxHops()}, nil)
	if err != nil {
		return c.fallback(ctx, req, err)
	}
	return resp, nil
}

// Check returns the error that Do would return before it passes req to a driver, or nil. Check does
// no I/O, so it does not check resolved addresses: Do checks them for each connection.
func (c *Client) Check(req *Request) error {
	if _, err := c.prepare(req, &hopCount{max: c.maxHops()}, nil); err != nil {
		return asError(req.Op.String(), req.URL, err)
	}
	return nil
}

// Schemes returns the registered schemes, sorted by name.
func (c *Client) Schemes() []Scheme { return c.registry.Schemes() }

// Scheme returns the registered scheme with the given lower-case name. It also finds schemes
// registered by prefix, which Schemes omits.
func (c *Client) Scheme(name string) (Scheme, bool) { return c.registry.Lookup(name) }

// Close closes idle connections. Open bodies remain valid.
func (c *Client) Close() error {
	for _, s := range c.registry.Schemes() {
		if d, ok := s.Driver.(IdleCloser); ok {
			d.CloseIdleConnections()
		}
	}
	return nil
}

type preparedRequest struct {
	req      *Request
	original uri.URI // the request's URL; differs from req.URL if a gateway serves it
	before   uri.URI // the URL of which a driver made original (see Upgrader); zero if none did
	prov     *provenance
	scheme   Scheme
	gateway  bool // req is for a gateway
}

// prepare applies the policy and chooses the gateway, proxy and driver of one exchange. Before is
// the exchange that led to it, or nil. prepare does no I/O.
func (c *Client) prepare(req *Request, hops *hopCount, before *provenance) (*preparedRequest, error) {
	given := req.URL
	if u, ok := c.upgrade(given); ok {
		dup := *req
		dup.URL, req = u, &dup
	} else {
		given = uri.URI{}
	}
	both := new(struct { // in one allocation
		preparedRequest
		provenance
	})
	p := &both.preparedRequest
	*p = preparedRequest{req: req, original: req.URL, before: given, prov: &both.provenance}
	c.setProvenance(p.prov, req, hops, before)
	p.scheme, _ = c.registry.Lookup(req.URL.Scheme())
	if err := c.policy.checkURL(p.prov, p.scheme); err != nil {
		return nil, err
	}
	target, ok, err := c.throughGateway(req.URL)
	if err != nil {
		return nil, err
	}
	if ok {
		// The user chose the gateway, so its URL does not have remote provenance.
		dup := *req
		dup.URL, dup.From = target, uri.URI{}
		p.req, p.gateway, p.prov = &dup, true, &provenance{url: target, hops: hops}
		p.scheme, _ = c.registry.Lookup(target.Scheme())
		if err := c.policy.checkURL(p.prov, p.scheme); err != nil {
			return nil, err
		}
	}
	p.prov.anonymous, p.prov.noCookies, p.prov.traits, p.prov.client = req.Anonymous, req.NoCookies,
		p.scheme.Traits, c
	if p.scheme.Driver != nil {
		if err := checkBody(p.scheme, p.req); err != nil {
			return nil, err
		}
		if p.prov.proxy, err = c.chooseProxy(p.req, p.scheme, p.prov); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// upgrade returns the URL that the driver of u requests instead of u, if there is one. The URLs that
// the user chose a gateway for stay.
func (c *Client) upgrade(u uri.URI) (upgraded uri.URI, ok bool) {
	s, _ := c.registry.Lookup(u.Scheme())
	d, ok := s.Driver.(Upgrader)
	if !ok {
		return u, false
	}
	if upgraded, ok = d.Upgrade(u); !ok {
		return u, false
	}
	if _, gateway, err := c.throughGateway(u); gateway || err != nil {
		return u, false
	}
	return upgraded, true
}

// begin performs one exchange until the response header. The recording is nil if no recorder is
// set.
func (c *Client) begin(ctx context.Context, p *preparedRequest) (*Response, *recording, error) {
	var rec *recording
	ctx = withProvenance(ctx, p.prov)
	if c.opts.Recorder != nil {
		if x := c.opts.Recorder.Record(ctx, p.req); x != nil {
			rec = newRecording(x)
			p.prov.recording = rec
		}
	}
	resp, err := c.exchange.Open(ctx, p.req)
	return resp, rec, err
}
