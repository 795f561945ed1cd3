// Package whois is the driver for whois: one question to a directory server,
// and its answer as text (RFC 3912). A server that refers to another is
// followed there.
package whois

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

const port = 43

// Load registers the driver.
func Load(env *fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name: "whois", Port: port, Ops: []fetch.Op{fetch.OpGet},
		Summary: "who holds a domain, address or name",
		Driver:  &driver{env},
	})
}

type driver struct{ env *fetch.Env }

// question returns the line to send: the path, after its first slash.
func question(u uri.URI) (string, error) {
	q, err := uri.Unescape(u.URLPath())
	switch {
	case err != nil:
		return "", err
	case u.Host() == "":
		return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("the URL names no server")}
	case q == "":
		return "", &fetch.Error{Code: fetch.ErrNeedSearch, Hint: "ask as in whois://" + u.Host() + "/example.org"}
	}
	return q, nil
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	q, err := question(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op != fetch.OpGet {
		return nil, fmt.Errorf("whois cannot %s: %w", req.Op, errors.ErrUnsupported)
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(port))
	if err != nil {
		return nil, err
	}
	a := &answer{conn: conn, release: fetch.Bind(ctx, conn)}
	if err := a.ask(q, d.env); err != nil {
		a.Close()
		return nil, err
	}
	resp := &fetch.Response{
		Meta: fetch.Meta{ContentType: "text/plain", Size: -1, Framing: fetch.FramedByClose, Name: fetch.SafeName(q + ".txt")},
		Body: a,
	}
	if next, ok := a.referral(req.URL, q); ok {
		return d.refer(ctx, req, next, resp), nil
	}
	return resp, nil
}

// refer asks the server that this one referred to. If that does not work, its
// own answer is better than none.
func (d *driver) refer(ctx context.Context, req *fetch.Request, next uri.URI, own *fetch.Response) *fetch.Response {
	resp, err := d.env.Open(ctx, &fetch.Request{URL: next, Op: req.Op, From: req.URL})
	own.Header = map[string][]string{"Referral": {next.String()}}
	if err != nil {
		own.Header.Set("Referral-Error", err.Error())
		d.env.Logger().Warn("whois referral", "to", next.Redacted(), "error", err)
		return own
	}
	own.Body.Close()
	return resp
}

// maxScan bounds how much of an answer is searched for a referral. Longer ones
// are lists, not records.
const maxScan = 64 << 10

// An answer is what a server says: the part that was searched, and the rest.
type answer struct {
	conn    net.Conn
	release func() bool
	head    []byte
	read    int
	whole   bool // head is all there is
}

func (a *answer) ask(q string, env *fetch.Env) error {
	if err := wire.CheckLine(q); err != nil {
		return err
	}
	if trace := env.Trace(); trace != nil {
		trace(true, q)
	}
	if c, ok := a.conn.(*wire.Conn); ok {
		c.SetIdle(env.Timeouts().Reply)
		defer c.SetIdle(env.Timeouts().Idle)
	}
	if _, err := io.WriteString(a.conn, q+"\r\n"); err != nil {
		return err
	}
	var err error
	a.head, err = io.ReadAll(io.LimitReader(a.conn, maxScan))
	a.whole = err == nil && len(a.head) < maxScan
	return err
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	if a.read < len(a.head) {
		n := copy(p, a.head[a.read:])
		a.read += n
		return n, nil
	}
	if a.whole {
		return 0, io.EOF
	}
	return a.conn.Read(p)
}

// Close closes the connection.
func (a *answer) Close() error {
	a.release()
	return a.conn.Close()
}

// referralFields are the names under which servers name a better one.
var referralFields = []string{"refer", "referralserver", "registrar whois server", "whois server", "whois"}

// referral finds the server that the answer refers to.
func (a *answer) referral(from uri.URI, q string) (uri.URI, bool) {
	if !a.whole {
		return uri.URI{}, false
	}
	for line := range bytes.Lines(a.head) {
		name, value, ok := strings.Cut(string(line), ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || value == "" {
			continue
		}
		for _, field := range referralFields {
			if name != field {
				continue
			}
			if u, ok := server(value, q); ok && (u.Host() != from.Host() || u.Port(port) != from.Port(port)) {
				return u, true
			}
		}
	}
	return uri.URI{}, false
}

// server makes a URL of "host", "host:port" or "whois://host[:port]". Other
// kinds of servers (rwhois) are not ours to ask.
func server(value, q string) (uri.URI, bool) {
	if scheme, rest, ok := strings.Cut(value, "://"); ok {
		if !strings.EqualFold(scheme, "whois") {
			return uri.URI{}, false
		}
		value = rest
	}
	value = strings.TrimRight(value, "/")
	if strings.ContainsAny(value, "/@?# ") {
		return uri.URI{}, false
	}
	u, err := uri.Parse("whois://" + value + "/" + uri.Escape(q))
	return u, err == nil && u.Host() != ""
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	q, err := question(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{q}, nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
