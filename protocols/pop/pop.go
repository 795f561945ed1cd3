// Package pop retrieves mail from the maildrops of mail servers: the schemes pop and pops (RFC
// 2384), and pop3 and pop3s as they are also written, over POP3 (RFC 1939, RFC 2449, RFC 2595, RFC
// 5034). Nothing that it sends changes a maildrop.
package pop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS refuses servers of pop that do not begin TLS (STLS, RFC 2595). Without it TLS is begun
	// where a server has it.
	StartTLS bool
	// AllowPlaintext lets passwords travel without TLS. APOP, which does not show them, needs none.
	AllowPlaintext bool
	// MaxConns is the number of connections to one maildrop; 0 means 2. Servers that lock a maildrop
	// (RFC 1939, section 4) refuse the second one, as busy.
	MaxConns int
}

const (
	defaultConns = 2
	// idleTimeout is short: what a connection sees of a maildrop is what was there at the login.
	idleTimeout = 15 * time.Second
)

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		conns := opts.MaxConns
		if conns <= 0 {
			conns = defaultConns
		}
		d := &driver{env: env, opts: opts}
		d.pool = mailsession.NewPool(env, conns, idleTimeout, d.dial)
		for _, s := range []fetch.Scheme{
			{Name: "pop", Port: 110, Summary: "messages of a maildrop on a mail server, by POP3"},
			{Name: "pop3", Port: 110, Summary: "the same as pop"},
			{Name: "pops", Port: 995, Summary: "the same as pop, over TLS"},
			{Name: "pop3s", Port: 995, Summary: "the same as pops"},
		} {
			s.Ops, s.Driver = []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, d
			reg.Register(s)
		}
	}
}

type driver struct {
	env  *fetch.Env
	opts Options
	pool *mailsession.Pool[*session]
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case t.isMessage() && req.Op == fetch.OpList:
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("a message has no members: %w", errors.ErrUnsupported)}
	case t.isMessage():
		return d.openMessage(ctx, req, t)
	}
	return d.openMaildrop(ctx, req, t)
}

// CloseIdleConnections implements fetch.IdleCloser.
func (d *driver) CloseIdleConnections() { d.pool.CloseIdle() }

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + t.Addr()}
	switch {
	case t.TLS:
		steps = append(steps, "TLS", "CAPA")
	case d.opts.StartTLS:
		steps = append(steps, "CAPA", "STLS")
	default:
		steps = append(steps, "CAPA", "STLS, if the server has it")
	}
	switch {
	case t.Auth == apop:
		steps = append(steps, "APOP")
	case t.Auth != "":
		steps = append(steps, "AUTH "+t.Auth)
	default:
		steps = append(steps, "log in")
	}
	number := fmt.Sprint(t.number)
	switch {
	case !t.isMessage() && req.Op == fetch.OpStat:
		return append(steps, "STAT"), nil
	case !t.isMessage():
		return append(steps, "LIST", "UIDL"), nil
	case t.uid != "":
		steps, number = append(steps, "UIDL"), "the number of "+fetch.Printable(t.uid)
	default:
		steps = append(steps, "UIDL "+number)
	}
	if req.Op == fetch.OpStat {
		return append(steps, "LIST "+number, "TOP "+number+" 0"), nil
	}
	return append(steps, "RETR "+number), nil
}

var (
	_ fetch.Driver     = (*driver)(nil)
	_ fetch.IdleCloser = (*driver)(nil)
	_ fetch.Explainer  = (*driver)(nil)
)
