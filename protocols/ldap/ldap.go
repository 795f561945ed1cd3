// Package ldap is the driver for ldap and ldaps: entries of a directory as LDIF
// (RFC 4516, RFC 4511, RFC 2849), and what lies below an entry as a listing.
package ldap

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

const (
	port    = 389
	portTLS = 636
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS begins TLS on the connections of ldap before anything else is
	// asked (RFC 4511, section 4.14).
	StartTLS bool
	// AllowClear lets passwords travel without TLS.
	AllowClear bool
}

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
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
	if req.Op != fetch.OpGet && req.Op != fetch.OpList {
		return nil, fmt.Errorf("ldap cannot %s: %w", req.Op, errors.ErrUnsupported)
	}
	s, err := d.connect(ctx, req, q)
	if err != nil {
		return nil, err
	}
	b := &body{session: s, query: q}
	if err := b.begin(); err != nil {
		b.Close()
		var away *referral
		if errors.As(err, &away) {
			return &fetch.Response{Location: away.to, Meta: fetch.Meta{Reply: away.reply}, Body: fetch.NoBody}, nil
		}
		return nil, err
	}
	s.raw.SetIdle(d.env.Timeouts().Idle)
	resp := &fetch.Response{Body: b, Meta: fetch.Meta{ContentType: "text/x-ldif", Size: -1, Name: fetch.SafeName(q.dn + ".ldif")}}
	if req.Op == fetch.OpList {
		resp.Kind, resp.Entries = fetch.KindListing, b.entries(req.URL)
	}
	return resp, nil
}

// connect returns a session in which the search can be asked for.
func (d *driver) connect(ctx context.Context, req *fetch.Request, q query) (*session, error) {
	secure := req.URL.Scheme() == "ldaps"
	if q.user != "" && !secure && !d.opts.StartTLS && !d.opts.AllowClear {
		return nil, &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the password would travel in clear text"),
			Hint: "use ldaps: or --starttls, or allow it with --allow-clear"}
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(defaultPort(req.URL)))
	if err != nil {
		return nil, err
	}
	s := newSession(conn.(*wire.Conn), d.env.Trace())
	s.raw.SetIdle(d.env.Timeouts().Reply)
	s.release = fetch.Bind(ctx, conn)
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
	conn, err := d.env.Handshake(ctx, s.raw, d.env.TLSConfig(req.URL.Host()))
	if err != nil {
		return err
	}
	s.use(conn)
	return d.bind(ctx, req, q, s)
}

// maxBinds bounds the passwords that are tried.
const maxBinds = 3

// bind proves the identity that the URL names. Without one the session stays
// anonymous.
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
			// A server takes it for an anonymous login that succeeded (RFC 4513, section 5.1.2).
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
