// Package imap retrieves messages from mailboxes of IMAP servers. It implements the schemes imap and
// imaps (RFC 5092) over IMAP4rev1 (RFC 3501). It never modifies a mailbox, not even the \Seen flag.
package imap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/quoted"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// StartTLS requires STARTTLS (RFC 3501, section 6.2.1) for the scheme imap. By default,
	// STARTTLS is used if the server offers it.
	StartTLS bool
	// AllowPlaintext allows passwords to be sent without TLS.
	AllowPlaintext bool
}

const (
	maxConns    = 4 // per server and login
	idleTimeout = 60 * time.Second
)

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader for the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		d.pool = mailsession.NewPool(env, maxConns, idleTimeout, d.dial)
		for _, s := range []fetch.Scheme{
			{Name: "imap", Port: 143,
				Summary: "mailboxes, messages and their parts on a mail server, over IMAP"},
			{Name: "imaps", Port: 993, Summary: "the same as imap, over TLS"},
		} {
			s.Ops, s.Ranges, s.Driver = []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, true, d
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
	switch {
	case err != nil:
		return nil, err
	case t.uid != 0 && req.Op == fetch.OpList:
		return nil, fetch.ErrNotRetrievable.Errorf("a message has no members: %w", errors.ErrUnsupported)
	case t.uid != 0:
		return d.openMessage(ctx, req, t)
	case t.mailbox == "":
		return d.openServer(ctx, req, t)
	}
	return d.openMailbox(ctx, req, t)
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
		steps = append(steps, "TLS")
	case d.opts.StartTLS:
		steps = append(steps, "STARTTLS")
	default:
		steps = append(steps, "STARTTLS, if the server offers it")
	}
	if t.Auth != "" {
		steps = append(steps, "AUTHENTICATE "+t.Auth)
	} else {
		steps = append(steps, "log in")
	}
	if t.mailbox == "" {
		return append(steps, `LIST "" "*"`), nil
	}
	steps = append(steps, "EXAMINE "+fetch.Printable(quoted.String(encodeName(t.mailbox))))
	switch {
	case t.uid != 0 && req.Op == fetch.OpStat:
		steps = append(steps, fmt.Sprintf("UID FETCH %d %s", t.uid, statItems))
	case t.uid != 0:
		steps = append(steps, fmt.Sprintf("UID FETCH %d %s", t.uid, sizeItems),
			fmt.Sprintf("UID FETCH %d (BODY.PEEK[%s])", t.uid, t.section))
	case t.search != "":
		steps = append(steps, "UID SEARCH "+fetch.Printable(t.search), "UID FETCH (the matches)")
	default:
		steps = append(steps, "UID FETCH 1:* "+listItems)
	}
	return steps, nil
}
