// Package pop retrieves mail from the maildrops of mail servers: the schemes pop and pops (RFC
// 2384), and pop3 and pop3s as they are also written, over POP3 (RFC 1939, RFC 2449, RFC 2595, RFC
// 5034). Nothing that it sends changes a maildrop.
package pop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch/driver"
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
func Load(env driver.Env, reg *driver.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) driver.Loader {
	return func(env driver.Env, reg *driver.Registry) {
		conns := cmp.Or(max(opts.MaxConns, 0), defaultConns)
		d := &opener{env: env, opts: opts}
		d.pool = mailsession.NewPool(env, conns, idleTimeout, d.dial)
		for _, s := range []driver.Scheme{
			{Name: "pop", Port: 110, Summary: "messages of a maildrop on a mail server, by POP3"},
			{Name: "pop3", Port: 110, Summary: "the same as pop"},
			{Name: "pops", Port: 995, Summary: "the same as pop, over TLS"},
			{Name: "pop3s", Port: 995, Summary: "the same as pops"},
		} {
			s.Ops, s.Driver = []driver.Op{driver.OpGet, driver.OpStat, driver.OpList}, d
			reg.Register(s)
		}
	}
}

type opener struct {
	env  driver.Env
	opts Options
	pool *mailsession.Pool[*session]
}

// Open implements driver.Driver.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case t.isMessage() && req.Op == driver.OpList:
		return nil, &driver.Error{Code: driver.ErrNotRetrievable, Err: fmt.Errorf("a message has no members: %w", errors.ErrUnsupported)}
	case t.isMessage():
		return d.openMessage(ctx, req, t)
	}
	return d.openMaildrop(ctx, req, t)
}

// CloseIdleConnections implements driver.IdleCloser.
func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

// Explain implements driver.Explainer.
func (d *opener) Explain(req *driver.Request) ([]string, error) {
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
	case !t.isMessage() && req.Op == driver.OpStat:
		return append(steps, "STAT"), nil
	case !t.isMessage():
		return append(steps, "LIST", "UIDL"), nil
	case t.uid != "":
		steps, number = append(steps, "UIDL"), "the number of "+driver.Printable(t.uid)
	default:
		steps = append(steps, "UIDL "+number)
	}
	if req.Op == driver.OpStat {
		return append(steps, "LIST "+number, "TOP "+number+" 0"), nil
	}
	return append(steps, "RETR "+number), nil
}

var (
	_ driver.IdleCloser = (*opener)(nil)
	_ driver.Explainer  = (*opener)(nil)
)
