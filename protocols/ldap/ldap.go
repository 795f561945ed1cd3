// Package ldap is the driver for ldap and ldaps: directory entries as LDIF (RFC 4516, RFC 4511, RFC
// 2849), and listings of the entries below one.
package ldap

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	port    = 389
	portTLS = 636
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS upgrades connections of ldap URLs to TLS before anything else (RFC 4511, section
	// 4.14).
	StartTLS bool
	// AllowPlaintext allows passwords to be sent without TLS.
	AllowPlaintext bool
}

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := &driver{env, opts}
		s := fetch.Scheme{Name: "ldap", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpList},
			Summary: "entries of a directory, as LDIF", Driver: d}
		reg.Register(s)
		s.Name, s.Port, s.Summary = "ldaps", portTLS, "entries of a directory, as LDIF, over TLS"
		reg.Register(s)
	}
}

type driver struct {
	env  *fetch.Env
	opts Options
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	q, err := parseURL(req.URL, req.Op == fetch.OpList)
	if err != nil {
		return nil, err
	}
	s, err := d.connect(ctx, req, q)
	if err != nil {
		return nil, err
	}
	b := &records{session: s, query: q}
	done := s.conn.ReplyTimeout(d.env.Timeouts().Reply)
	if err := b.begin(); err != nil {
		b.Close()
		var away *referral
		if errors.As(err, &away) {
			return &fetch.Response{Location: away.to, Meta: fetch.Meta{Reply: away.reply}, Body: fetch.NoBody}, nil
		}
		return nil, err
	}
	done()
	resp := &fetch.Response{Meta: fetch.Meta{ContentType: "text/x-ldif", Size: -1, Name: fetch.SafeName(q.dn + ".ldif")}}
	if req.Op != fetch.OpList {
		resp.Body = newDocument(b)
		return resp, nil
	}
	resp.Kind = fetch.KindListing
	resp.Body, resp.Parse = fetch.NewListing(b.parts(req.URL), b.Close)
	return resp, nil
}

// connect returns a session that is ready for the search.
func (d *driver) connect(ctx context.Context, req *fetch.Request, q query) (*session, error) {
	secure := req.URL.Scheme() == "ldaps"
	if q.user != "" && !secure && !d.opts.StartTLS && !d.opts.AllowPlaintext {
		return nil, &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the password would travel in plaintext"),
			Reason: fetch.Reason{Kind: fetch.ReasonPlaintext}, Hint: "use ldaps or StartTLS"}
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(defaultPort(req.URL)))
	if err != nil {
		return nil, err
	}
	conn.Bind(ctx)
	s := newSession(conn, d.env.Timeouts().Reply)
	if err := d.prepare(ctx, req, q, s, secure); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (d *driver) prepare(ctx context.Context, req *fetch.Request, q query, s *session, secure bool) error {
	if !secure && d.opts.StartTLS {
		if err := s.startTLS(); err != nil {
			return err
		}
		secure = true
	} else if !secure {
		return d.bind(ctx, req, q, s)
	}
	if err := d.env.Handshake(ctx, s.conn, d.env.TLSConfig(ctx, req.URL.Host())); err != nil {
		return err
	}
	return d.bind(ctx, req, q, s)
}

// maxBinds bounds the number of passwords to try.
const maxBinds = 3

// bind authenticates as the user in the URL. Without one, the session stays anonymous.
func (d *driver) bind(ctx context.Context, req *fetch.Request, q query, s *session) error {
	if q.user == "" {
		return nil
	}
	var refused error
	for attempt := 1; attempt <= maxBinds; attempt++ {
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: req.URL, Mechanism: "ldap", User: q.user, Attempt: attempt})
		switch {
		case refused != nil && errors.Is(err, fetch.ErrAuth):
			return refused
		case err != nil:
			return err
		case cred.Password == "":
			// A server would treat it as an anonymous login, which succeeds (RFC 4513, section
			// 5.1.2).
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the password is empty")}
		}
		refused = s.bind(q.user, cred.Password)
		if !errors.Is(refused, fetch.ErrAuth) {
			return refused
		}
	}
	return refused
}

func defaultPort(u uri.URI) uint16 {
	if u.Scheme() == "ldaps" {
		return portTLS
	}
	return port
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	q, err := parseURL(req.URL, req.Op == fetch.OpList)
	if err != nil {
		return nil, err
	}
	var steps []string
	if d.opts.StartTLS && req.URL.Scheme() == "ldap" {
		steps = append(steps, "StartTLS")
	}
	if q.user != "" {
		steps = append(steps, bindStep(q.user))
	}
	return append(steps, q.String()), nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
