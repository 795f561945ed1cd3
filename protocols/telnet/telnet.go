// Package telnet opens interactive sessions: telnet (RFC 854), rlogin (RFC 1282) and tn3270 (RFC
// 1576).
//
//	telnet://user@host:port/
//	rlogin://user@host/
//	tn3270://host/
//
// The user and password of such a URL are advice (RFC 1738, section 3.8), which is sent only if
// Options.Login says so. Rlogin always sends a user name, tn3270 never does.
//
// A tn3270 session gives screens, not bytes. A caller that calls Resize first has a terminal: it
// reads what draws the screen there, and writes what the keys of an ANSI terminal send, which
// package tn3270 explains. Any other caller reads the screen as UTF-8 text, once for every record
// of the host that changes it, with an empty line before all but the first. It writes text to be
// typed at the cursor, in which a tab leads to the next field and a line feed is the Enter key;
// Write waits while the host keeps the keyboard locked.
//
// What is typed may be a password. A client's Recorder gets all that the server sends, and of what
// is sent to it the negotiation only; Options.Transcript gets everything.
//
// A session ends when the server closes the connection. Whether it had more to send cannot be
// known.
package telnet

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const telnetPort = 23

// Options configures the driver.
type Options struct {
	// TermType is the terminal type to tell servers. Empty means that of the environment variable
	// TERM, or "unknown".
	TermType string
	// CRLF sends the line ends of input as CR LF. Otherwise a line feed alone is sent as it is.
	CRLF bool
	// Login answers the first prompts for a user name and a password with those of the URL, or of
	// the client's Credentials. The password travels in plaintext.
	Login bool
	// Transcript, if not nil, receives both directions of each session, the option negotiation in
	// words. It holds all that is typed, passwords too.
	Transcript io.Writer
}

// terminalType returns the type to tell.
func (o Options) terminalType() string {
	for _, t := range []string{o.TermType, os.Getenv("TERM")} {
		if t != "" {
			return t
		}
	}
	return "unknown"
}

// Load registers the schemes telnet, rlogin and tn3270 with default options.
func Load(env driver.Env, reg *driver.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) driver.Loader {
	return func(env driver.Env, reg *driver.Registry) {
		d := &opener{env: env, opts: opts}
		for _, s := range []struct {
			name, summary string
			port          uint16
			open          func(context.Context, uri.Telnet, *driver.Request) (io.ReadWriteCloser, error)
		}{
			{"telnet", "a terminal session on another machine", telnetPort, d.telnet},
			{"rlogin", "a terminal session on another machine that trusts this one", rloginPort, d.rlogin},
			{"tn3270", "a full-screen session on an IBM mainframe", telnetPort, d.tn3270},
		} {
			reg.Register(driver.Scheme{Name: s.name, Port: s.port, Ops: []driver.Op{driver.OpDial}, Summary: s.summary,
				Traits: driver.Traits{Screens: s.name == "tn3270"},
				Driver: &schemeDriver{open: s.open}})
		}
	}
}

// A schemeDriver is the driver of one scheme.
type schemeDriver struct {
	open func(context.Context, uri.Telnet, *driver.Request) (io.ReadWriteCloser, error)
}

// Open implements driver.Driver.
func (o *schemeDriver) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	u, err := uri.ParseTelnet(req.URL)
	if err != nil {
		return nil, &driver.Error{Code: driver.ErrURL, Err: err}
	}
	rw, err := o.open(ctx, u, req)
	if err != nil {
		return nil, err
	}
	resp := &driver.Response{URL: req.URL, Body: rw}
	resp.Kind, resp.Size, resp.Framing = driver.KindSession, -1, driver.FramedByClose
	return resp, nil
}

// Explain implements driver.Explainer.
func (o *schemeDriver) Explain(req *driver.Request) ([]string, error) {
	if _, err := uri.ParseTelnet(req.URL); err != nil {
		return nil, &driver.Error{Code: driver.ErrURL, Err: err}
	}
	return []string{"exchange what is typed and what is shown"}, nil
}

// An opener opens the sessions.
type opener struct {
	env  driver.Env
	opts Options
}

func (d *opener) telnet(ctx context.Context, u uri.Telnet, req *driver.Request) (io.ReadWriteCloser, error) {
	g, err := d.loginAnswerer(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	l, err := d.dial(ctx, u)
	if err != nil {
		return nil, err
	}
	s := newSession(l, d.opts)
	s.login = g
	return s, nil
}

// dial opens a telnet connection.
func (d *opener) dial(ctx context.Context, u uri.Telnet) (*link, error) {
	conn, err := d.env.Dial(ctx, "tcp", hostPort(u))
	if err != nil {
		return nil, err
	}
	inlineUrgent(conn)
	return newLink(ctx, conn, newTranscript(d.opts.Transcript, driver.Trace(ctx))), nil
}

// loginAnswerer returns what logs in, or nil if nothing does.
func (d *opener) loginAnswerer(ctx context.Context, u uri.URI) (*loginAnswerer, error) {
	if !d.opts.Login {
		return nil, nil
	}
	user, _ := u.User()
	cred, err := d.env.Credential(ctx, driver.Challenge{URL: u, Mechanism: u.Scheme(), User: user, Attempt: 1})
	if err != nil {
		return nil, fmt.Errorf("no user and password to log in with: %w", err)
	}
	if err := wire.CheckLine(cred.User + cred.Password); err != nil {
		return nil, err
	}
	return &loginAnswerer{cred: cred}, nil
}

// hostPort returns the address of a session.
func hostPort(u uri.Telnet) string { return net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port))) }

var (
	_ driver.Driver    = (*schemeDriver)(nil)
	_ driver.Explainer = (*schemeDriver)(nil)
)
