// Package telnet opens interactive sessions: telnet (RFC 854), rlogin (RFC 1282) and tn3270 (RFC
// 1576, RFC 2355).
//
//	telnet://user@host:port/
//	rlogin://user@host/
//	tn3270://host/
//
// The user and password of such a URL are advice (RFC 1738, section 3.8). They are sent only if
// Options.Login is set. Rlogin always sends a user name, tn3270 never does.
//
// A tn3270 session returns screens, not bytes. A caller that first calls Resize has a terminal: it
// reads output that draws the screen, and writes the key sequences of an ANSI terminal, which
// package tn3270 documents. Any other caller reads the screen as UTF-8 text, once for every record
// of the host that changes it, with empty lines between screens. It writes text that is typed at
// the cursor. A tab moves to the next field, and a line feed is the Enter key. Write waits while
// the host locks the keyboard.
//
// Typed data may contain passwords. A client's Recorder receives all data from the server, and only
// the negotiation sent to it. Options.Transcript receives everything.
//
// A session ends when the server closes the connection. A truncated session cannot be detected.
package telnet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const telnetPort = 23

// Options configure the driver.
type Options struct {
	// TermType is the terminal type to send to servers. Empty means the environment variable TERM,
	// or "unknown".
	TermType string
	// CRLF sends line endings of the input as CR LF. Otherwise LF is sent unchanged.
	CRLF bool
	// Login responds to the first prompts for a user name and a password with those of the URL, or
	// of the client's Credentials. The password is sent in plaintext.
	Login bool
	// Transcript, if not nil, receives both directions of each session, including option
	// negotiation in readable form. It contains typed data, including passwords.
	Transcript io.Writer
}

func (o Options) terminalType() string {
	return cmp.Or(o.TermType, os.Getenv("TERM"), "unknown")
}

// Load registers the schemes telnet, rlogin and tn3270 with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the schemes with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		for _, s := range []struct {
			name, summary string
			port          uint16
			open          openFunc
		}{
			{"telnet", "a terminal session on another machine", telnetPort, d.telnet},
			{"rlogin", "a terminal session on another machine that trusts this one", rloginPort, d.rlogin},
			{"tn3270", "a full-screen session on an IBM mainframe", telnetPort, d.tn3270},
		} {
			reg.Register(fetch.Scheme{Name: s.name, Port: s.port, Ops: []fetch.Op{fetch.OpDial},
				Summary: s.summary,
				Traits:  fetch.Traits{Screens: s.name == "tn3270"},
				Driver:  &schemeDriver{s.port, s.open}})
		}
	}
}

type openFunc func(ctx context.Context, addr string, req *fetch.Request) (io.ReadWriteCloser, error)

type schemeDriver struct {
	port uint16
	open openFunc
}

func (o *schemeDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if err := check(req.URL); err != nil {
		return nil, err
	}
	rw, err := o.open(ctx, req.URL.HostPort(o.port), req)
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: rw}
	resp.Kind, resp.Size, resp.Framing = fetch.KindSession, -1, fetch.FramedByClose
	return resp, nil
}

func (o *schemeDriver) Explain(req *fetch.Request) ([]string, error) {
	if err := check(req.URL); err != nil {
		return nil, err
	}
	return []string{"exchange typed data and output"}, nil
}

// check refuses URLs with a path or query, or without a host (RFC 1738, section 3.8; RFC 1630 for
// rlogin and tn3270). The login is advice for the user.
func check(u uri.URI) error {
	_, query := u.Query()
	switch {
	case u.Host() == "":
		return fetch.ErrURL.Errorf("no host")
	case u.URLPath() != "" || query:
		return fetch.ErrURL.Errorf("a session URL cannot have a path")
	}
	return nil
}

type opener struct {
	env  fetch.Env
	opts Options
}

func (d *opener) telnet(ctx context.Context, addr string, req *fetch.Request) (io.ReadWriteCloser, error) {
	g, err := d.autoLogin(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	l, err := d.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	l.term, l.accept, l.out.lineEnds = d.opts.terminalType(), acceptTerminal, d.opts.CRLF
	return &session{link: l, login: g}, nil
}

func (d *opener) dial(ctx context.Context, addr string) (*link, error) {
	conn, err := d.env.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	inlineUrgent(conn)
	conn.Bind(ctx)
	record := newTranscript(d.opts.Transcript, driver.Line(ctx))
	return &link{conn: conn, record: record, received: received{raw: make([]byte, 16<<10)}}, nil
}

func (d *opener) autoLogin(ctx context.Context, u uri.URI) (*autoLogin, error) {
	if !d.opts.Login {
		return nil, nil
	}
	user, _ := u.User()
	cred, err := d.env.Credential(ctx,
		fetch.Challenge{URL: u, Mechanism: u.Scheme(), User: user, Attempt: 1})
	if err != nil {
		return nil, fmt.Errorf("no credentials for the login: %w", err)
	}
	if err := wire.CheckLine(cred.User + cred.Password); err != nil {
		return nil, err
	}
	return &autoLogin{cred: cred}, nil
}
