// Package whois is the driver for whois: a query to a directory server, and its answer as text (RFC
// 3912). Referrals to another server are followed.
package whois

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
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

// question returns the query line for a URL: its path, without the first slash.
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
	a := &answer{}
	ask := fetch.Question{Addr: req.URL.HostPort(port), Lines: []string{q}}
	if err := d.env.Ask(ctx, ask, a.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{
		Meta: fetch.Meta{ContentType: "text/plain", Size: -1, Text: true, Framing: fetch.FramedByClose, Name: fetch.SafeName(q + ".txt")},
		Body: a,
	}
	if next, ok := a.referral(req.URL, q); ok {
		return d.refer(ctx, req, next, resp), nil
	}
	return resp, nil
}

// refer asks the server that the answer refers to. If that fails, the first server's own answer is
// better than none.
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

// maxScan bounds how much of an answer is searched for a referral, in bytes. Longer answers are
// lists rather than records.
const maxScan = 64 << 10

// An answer is the body of a response.
type answer struct {
	io.Reader
	io.Closer
	head  []byte // the part to be searched
	whole bool   // head is the complete answer
}

func (a *answer) begin(conn *fetch.Conn) (err error) {
	a.Closer = conn
	conn.PieceLines()
	a.head, err = io.ReadAll(io.LimitReader(conn, maxScan))
	a.whole = err == nil && len(a.head) < maxScan
	a.Reader = io.MultiReader(bytes.NewReader(a.head), conn)
	if err != nil {
		return err
	}
	return a.rwhoisError()
}

// rwhoisError returns the error that an RWhois server reports: its answers begin with a banner, and
// errors are lines such as "%error 230 No Objects Found" (RFC 2167, appendix B).
func (a *answer) rwhoisError() error {
	if !bytes.HasPrefix(a.head, []byte("%rwhois ")) {
		return nil
	}
	for line := range bytes.Lines(a.head) {
		text, ok := bytes.CutPrefix(line, []byte("%error "))
		if !ok {
			continue
		}
		number, said, _ := strings.Cut(strings.TrimSpace(wire.Text(string(text))), " ")
		code, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: code, Text: said}}
		switch {
		case code == 230:
			e.Code = fetch.ErrNotFound
		case code >= 300 && code < 400:
			e.Code = fetch.ErrRefused
		}
		return e
	}
	return nil
}

// referralFields are the names of fields that refer to another server.
var referralFields = []string{"refer", "referralserver", "registrar whois server", "whois server", "whois"}

// referral returns the URL of the server that the answer refers to.
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

// server returns a URL for "host", "host:port" or "whois://host[:port]". Servers of other protocols
// (rwhois) are not supported.
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

// Expect implements fetch.Expecter.
func (d *driver) Expect(req *fetch.Request) (fetch.Meta, bool) {
	q, err := question(req.URL)
	return fetch.Meta{Name: fetch.SafeName(q + ".txt"), ContentType: "text/plain"}, err == nil
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
	_ fetch.Expecter  = (*driver)(nil)
)
