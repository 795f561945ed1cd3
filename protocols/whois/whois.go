// Package whois is the driver for whois (RFC 3912), which sends a query to a directory server and
// returns the response as text. It follows a referral to another server.
package whois

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const port = 43

// Load registers the driver.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name: "whois", Port: port, Ops: []fetch.Op{fetch.OpGet},
		Summary: "registration data of domains, addresses and names",
		Driver:  &opener{env},
	})
}

type opener struct{ env fetch.Env }

// query returns the query line for a URL: its path without the first slash.
func query(u uri.URI) (string, error) {
	q, err := uri.Unescape(u.URLPath())
	switch {
	case err != nil:
		return "", err
	case u.Host() == "":
		return "", fetch.ErrURL.Errorf("the URL has no host")
	case q == "":
		return "", &fetch.Error{Code: fetch.ErrNeedSearch,
			Hint: "add a query, as in whois://" + u.Host() + "/example.org"}
	}
	return q, nil
}

// asciiDomain returns a domain name as A-labels, which registries expect, and other queries
// unchanged.
func asciiDomain(q string) string {
	if !strings.Contains(q, ".") || strings.ContainsAny(q, " /@:?#[]%\\") {
		return q
	}
	if u, err := uri.Parse("whois://" + q + "/"); err == nil && strings.HasPrefix(u.Host(), "xn--") ||
		err == nil && strings.Contains(u.Host(), ".xn--") {
		return u.Host()
	}
	return q
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	q, err := query(req.URL)
	if err != nil {
		return nil, err
	}
	a := &response{}
	question := driver.Question{Addr: req.URL.HostPort(port), Lines: []string{asciiDomain(q)}}
	if err := driver.Ask(ctx, d.env, question, a.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{
		Meta: fetch.Meta{Name: fetch.SafeName(q + ".txt"), ContentType: "text/plain", Size: -1,
			Text: true, Framing: fetch.FramedByClose},
		Body: a,
	}
	if next, ok := a.referral(req.URL, q); ok {
		return d.followReferral(ctx, req, next, resp), nil
	}
	return resp, nil
}

// followReferral sends the query to the server in the referral. If that fails, it returns the
// response of the first server.
func (d *opener) followReferral(
	ctx context.Context, req *fetch.Request, next uri.URI, original *fetch.Response,
) *fetch.Response {
	resp, err := d.env.Open(ctx, &fetch.Request{URL: next, Op: req.Op, From: req.URL})
	original.Header = map[string][]string{"Referral": {next.String()}}
	if err != nil {
		original.Header.Set("Referral-Error", err.Error())
		d.env.Logger().Warn("whois referral", "to", next.Redacted(), "error", err)
		return original
	}
	original.Body.Close()
	return resp
}

// maxScan limits the responses that are searched for a referral, in bytes. Longer responses are
// lists, not records.
const maxScan = 64 << 10

type response struct {
	io.Reader
	io.Closer
	head     []byte // the first maxScan bytes
	complete bool   // head is the complete response
}

func (a *response) begin(conn *fetch.Conn) (err error) {
	a.Closer = conn
	conn.PieceLines()
	a.head, err = io.ReadAll(io.LimitReader(conn, maxScan))
	a.complete = err == nil && len(a.head) < maxScan
	a.Reader = io.MultiReader(bytes.NewReader(a.head), conn)
	if err != nil {
		return err
	}
	return a.rwhoisError()
}

// rwhoisNoObjects is the RWhois error code for "No Objects Found" (RFC 2167, appendix B).
const rwhoisNoObjects = 230

// rwhoisError returns the error that an RWhois server reports. Its responses start with a banner, and
// errors are lines such as "%error 230 No Objects Found" (RFC 2167, appendix B).
func (a *response) rwhoisError() error {
	if !bytes.HasPrefix(a.head, []byte("%rwhois ")) {
		return nil
	}
	for line := range bytes.Lines(a.head) {
		text, ok := bytes.CutPrefix(line, []byte("%error "))
		if !ok {
			continue
		}
		number, reason, _ := strings.Cut(strings.TrimSpace(wire.Text(string(text))), " ")
		code, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: code, Text: reason}}
		switch {
		case code == rwhoisNoObjects:
			e.Code = fetch.ErrNotFound
		case code >= 300 && code < 400:
			e.Code = fetch.ErrRefused
		}
		return e
	}
	return nil
}

var referralFields = []string{"refer", "referralserver", "registrar whois server", "whois server", "whois"}

func (a *response) referral(from uri.URI, q string) (uri.URI, bool) {
	if !a.complete {
		return uri.URI{}, false
	}
	for line := range bytes.Lines(a.head) {
		name, value, ok := strings.Cut(string(line), ":")
		if rest, isRWhois := bytes.CutPrefix(line, []byte("%referral ")); isRWhois {
			name, value, ok = "%referral", string(rest), true
		}
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || value == "" || name != "%referral" && !slices.Contains(referralFields, name) {
			continue
		}
		u, ok := referralURL(value, q)
		if ok && (u.Host() != from.Host() || u.Port(port) != from.Port(port)) {
			return u, true
		}
	}
	return uri.URI{}, false
}

// portRWhois is the port of RWhois, whose servers also respond to the query lines of whois (RFC 2167,
// section 3.3.1).
const portRWhois = "4321"

// referralURL returns a URL for "host", "host:port", "whois://host[:port]" or
// "rwhois://host[:port][/auth-area=…]".
func referralURL(value, q string) (uri.URI, bool) {
	if scheme, rest, ok := strings.Cut(value, "://"); ok {
		switch strings.ToLower(scheme) {
		case "whois":
			value = rest
		case "rwhois":
			if value, _, _ = strings.Cut(rest, "/"); !hasPort(value) {
				value += ":" + portRWhois
			}
		default:
			return uri.URI{}, false
		}
	}
	value = strings.TrimRight(value, "/.")
	if strings.ContainsAny(value, "/@?# ") {
		return uri.URI{}, false
	}
	u, err := uri.Parse("whois://" + value + "/" + uri.Escape(q))
	return u, err == nil && u.Host() != ""
}

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	q, err := query(req.URL)
	return fetch.Meta{Name: fetch.SafeName(q + ".txt"), ContentType: "text/plain"}, err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	q, err := query(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{q}, nil
}
