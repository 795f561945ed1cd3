// Package ldap is the driver for ldap and ldaps URLs (RFC 4516, RFC 4511). It retrieves directory
// entries as LDIF (RFC 2849) and lists the children of an entry.
package ldap

import (
	"bufio"
	"cmp"
	"context"
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

const (
	port    = 389
	portTLS = 636
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS upgrades connections of ldap URLs to TLS before the first request (RFC 4511, section
	// 4.14).
	StartTLS bool
	// AllowPlaintext permits sending passwords without TLS.
	AllowPlaintext bool
}

// Load registers the driver with the default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader that registers the driver with opts.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		s := fetch.Scheme{Name: "ldap", Port: port, Ops: []fetch.Op{fetch.OpGet, fetch.OpList},
			Summary: "entries of a directory, as LDIF", Driver: d}
		reg.Register(s)
		s.Name, s.Port, s.Summary = "ldaps", portTLS, "entries of a directory, as LDIF, over TLS"
		reg.Register(s)
	}
}

type opener struct {
	env   fetch.Env
	opts  Options
	tried driver.Logins
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	q, err := parseURL(req.URL, req.Op == fetch.OpList)
	if err != nil {
		return nil, err
	}
	s, err := d.connect(ctx, req, q)
	if err != nil {
		return nil, err
	}
	b := &records{session: s, query: q, dial: func() (*session, error) { return d.connect(ctx, req, q) }}
	done := s.conn.ReplyTimeout(d.env.Timeouts().Reply)
	if err := b.begin(); err != nil {
		b.Close()
		var ref *referral
		if errors.As(err, &ref) {
			return &fetch.Response{Location: ref.urls, Meta: fetch.Meta{Reply: ref.reply},
				Body: fetch.NoBody}, nil
		}
		return nil, err
	}
	done()
	resp := &fetch.Response{Meta: fetch.Meta{ContentType: "text/x-ldif", Size: -1,
		Name: fetch.SafeName(q.dn + ".ldif")}}
	if req.Op != fetch.OpList {
		resp.Body = &document{records: b, writer: recordWriter{started: true}, rest: []byte(header)}
		return resp, nil
	}
	resp.Kind = fetch.KindListing
	driver.SetParts(resp, b.parts(req.URL), b.Close)
	return resp, nil
}

func (d *opener) connect(ctx context.Context, req *fetch.Request, q query) (*session, error) {
	secure := req.URL.Scheme() == "ldaps"
	if q.user != "" && !secure && !d.opts.StartTLS && !d.opts.AllowPlaintext {
		return nil, errPlaintext()
	}
	addr := req.URL.HostPort(port)
	if secure {
		addr = req.URL.HostPort(portTLS)
	}
	conn, err := d.env.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn.Bind(ctx)
	s := &session{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), timeout: d.env.Timeouts().Reply}
	if err := d.prepare(ctx, req, q, s, secure); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func errPlaintext() error {
	return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the password would be sent in plaintext"),
		Reason: fetch.Reason{Kind: fetch.ReasonPlaintext}, Hint: "use ldaps or StartTLS"}
}

func (d *opener) prepare(ctx context.Context, req *fetch.Request, q query, s *session, secure bool) error {
	if !secure && d.opts.StartTLS {
		if err := s.startTLS(); err != nil {
			return err
		}
		secure = true
	}
	if secure {
		if err := s.conn.Handshake(ctx, d.env.TLSConfig(ctx, req.URL.Host())); err != nil {
			return err
		}
	}
	return d.bind(ctx, req, q, s, secure)
}

const maxBinds = 3

// Without a user in the URL or the client's credentials, the session stays anonymous.
func (d *opener) bind(ctx context.Context, req *fetch.Request, q query, s *session, secure bool) error {
	var refused error
	for attempt := 1; attempt <= maxBinds; attempt++ {
		cred, err := d.env.Credential(ctx,
			fetch.Challenge{URL: req.URL, Mechanism: "ldap", User: q.user, Attempt: attempt})
		user := cmp.Or(q.user, cred.User)
		switch {
		case refused != nil && (errors.Is(err, fetch.ErrAuth) || err == nil && cred.Password == ""):
			return refused
		case q.user == "" && errors.Is(err, fetch.ErrAuth),
			q.user == "" && err == nil && (user == "" || user == "anonymous"): // of a netrc file, for FTP
			return nil
		case err != nil:
			return err
		case !secure && !d.opts.AllowPlaintext:
			return errPlaintext()
		case cred.Password == "":
			// A server would treat this as unauthenticated access and report success (RFC 4513,
			// section 5.1.2).
			return fetch.ErrAuth.Errorf("the password is empty")
		}
		refused = d.tried.Send(ctx, d.env, req.URL, fetch.Credential{User: user, Password: cred.Password},
			func() error { return s.bind(user, cred.Password) })
		if !errors.Is(refused, fetch.ErrAuth) {
			return refused
		}
	}
	return refused
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	q, err := parseURL(req.URL, req.Op == fetch.OpList)
	if err != nil {
		return nil, err
	}
	var steps []string
	if d.opts.StartTLS && req.URL.Scheme() == "ldap" {
		steps = append(steps, "StartTLS")
	}
	if q.user != "" {
		steps = append(steps, describeBind(q.user))
	}
	return append(steps, q.String()), nil
}
