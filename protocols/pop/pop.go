// Package pop retrieves messages from maildrops of POP3 servers. It implements the schemes pop and
// pops (RFC 2384), and their aliases pop3 and pop3s, over POP3 (RFC 1939, RFC 2449, RFC 2595, RFC
// 5034). It never modifies a maildrop.
package pop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS requires STLS (RFC 2595) for the schemes pop and pop3. By default, STLS is used if
	// the server offers it.
	StartTLS bool
	// AllowPlaintext allows passwords to be sent without TLS. APOP does not need it, because it
	// sends only a digest.
	AllowPlaintext bool
}

const (
	// maxConns limits the connections per maildrop. A server that locks maildrops (RFC 1939, section
	// 4) refuses a second connection as busy.
	maxConns = 2
	// idleTimeout is short, because a session does not see messages that arrive after its login.
	idleTimeout = 15 * time.Second
)

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader for the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		d.pool = mailsession.NewPool(env, maxConns, idleTimeout, d.dial)
		for _, s := range []fetch.Scheme{
			{Name: "pop", Port: 110, Summary: "messages of a maildrop on a mail server, over POP3"},
			{Name: "pop3", Port: 110, Summary: "the same as pop"},
			{Name: "pops", Port: 995, Summary: "the same as pop, over TLS"},
			{Name: "pop3s", Port: 995, Summary: "the same as pops"},
		} {
			s.Ops, s.Driver = []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, d
			reg.Register(s)
		}
	}
}

type opener struct {
	env   fetch.Env
	opts  Options
	pool  *mailsession.Pool[*session]
	tried driver.Logins
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case t.isMessage() && req.Op == fetch.OpList:
		return nil, fetch.ErrNotRetrievable.Errorf("a message has no members: %w", errors.ErrUnsupported)
	case t.isMessage():
		return d.openMessage(ctx, req, t)
	}
	return d.openMaildrop(ctx, req, t)
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
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
		steps = append(steps, "CAPA", "STLS, if the server offers it")
	}
	switch {
	case t.Auth == apopMechanism:
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
	}
	steps = append(steps, "UIDL "+number)
	if req.Op == fetch.OpStat {
		return append(steps, "LIST "+number, "TOP "+number+" 0"), nil
	}
	return append(steps, "RETR "+number), nil
}
