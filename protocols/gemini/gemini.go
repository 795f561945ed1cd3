// Package gemini retrieves gemini URLs: one request line and one response per connection, over TLS
// (the Gemini network protocol and its hypertext format, gemtext).
//
// A page of gemtext is a document; listed, it yields its links. Content ends with the close_notify
// of TLS, so a truncated response is detected.
//
// Most servers have self-signed certificates. The first certificate of a server is stored with its
// host and port. A different one is an error until the first expires ("trust on first use"): see
// [Options.Certificates]. The name, the dates and the issuer in the certificate are not checked. If
// Options.TLS of the client has RootCAs, certificates are verified with those instead, and nothing
// is stored. With InsecureSkipVerify, nothing is checked.
package gemini

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

const (
	port = 1965
	// maxURL limits the URL in a request, in bytes.
	maxURL = 1024
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Certificates is the name of a file with the certificates of servers, one per line: "host:port
	// sha256 FINGERPRINT EXPIRY". The file and its directory are created when needed, and lines are
	// only appended. If it is "", certificates are kept for the life of the client.
	Certificates string
}

// Load registers the scheme gemini with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the scheme with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "gemini",
			Port: port,
			Ops:  []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Traits: fetch.Traits{Tree: true, Pages: true, Robots: "/robots.txt",
				FirstUse: true, Identities: true},
			Summary: "pages and files over the Gemini protocol, with TLS",
			Driver:  &opener{env: env, reg: reg, known: &known{file: opts.Certificates}},
		})
	}
}

type opener struct {
	env   fetch.Env
	reg   *fetch.Registry
	known *known
}

// A request is the URL to send.
type request struct {
	host, addr string
	url        string // without the query
	query      string // with the question mark; or ""
	secret     bool   // mask the query in traces
}

// parse returns the request for a URL, in ASCII and without the fragment.
func parse(u uri.URI) (request, error) {
	host, err := smallnet.Host(u)
	if err != nil {
		return request{}, err
	}
	req := request{host: u.Host(), addr: u.HostPort(port), url: "gemini://" + host}
	if p := u.Port(port); p != port {
		req.url += ":" + strconv.Itoa(int(p))
	}
	req.url += smallnet.Path(u)
	if query, ok := u.Query(); ok {
		req.query = "?" + smallnet.ASCII(query)
	}
	return req, req.check()
}

func (r request) check() error {
	if n := len(r.url) + len(r.query); n > maxURL {
		return fetch.ErrURL.Errorf("the URL has %d bytes, the limit is %d", n, maxURL)
	}
	return wire.CheckLine(r.url + r.query)
}

func (r request) shown() string {
	if r.secret {
		return r.url + "?********"
	}
	return r.url + r.query
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	r, err := d.ask(ctx, out)
	if err != nil {
		return nil, err
	}
	if answer, ok := r.formAnswer(req.Form); ok {
		r.Close()
		out.query, out.secret = "?"+uri.Escape(answer), r.Status == sensitiveInput
		if err := out.check(); err != nil {
			return nil, err
		}
		if r, err = d.ask(ctx, out); err != nil {
			return nil, err
		}
	}
	return r.Respond(req, r.interpret)
}

func (d *opener) ask(ctx context.Context, req request) (*response, error) {
	cfg := d.env.TLSConfig(ctx, req.host)
	var refusal error
	firstUse := cfg.RootCAs == nil && !cfg.InsecureSkipVerify
	if firstUse {
		cfg.InsecureSkipVerify = true // certificates are checked by known instead
		verify := cfg.VerifyConnection
		cfg.VerifyConnection = func(state tls.ConnectionState) error {
			refusal = d.known.check(req.addr, state.PeerCertificates[0])
			if refusal != nil || verify == nil {
				return refusal
			}
			return verify(state)
		}
	}
	line := req.url + req.query + "\r\n"
	question := driver.Question{Addr: req.addr, TLS: cfg, Data: line, Shown: req.shown() + "\r\n"}
	r := &response{schemes: d.reg}
	err := driver.Ask(ctx, d.env, question, func(conn *fetch.Conn) (err error) {
		if firstUse {
			// Only the completed handshake proves that the server owns the certificate.
			d.remember(req.addr, conn.TLS())
		}
		r.Response, err = headerFormat.Read(conn)
		return err
	})
	if refusal != nil {
		return nil, refusal
	}
	return r, err
}

func (d *opener) remember(addr string, state *tls.ConnectionState) {
	if state == nil {
		return
	}
	if err := d.known.remember(addr, state.PeerCertificates[0]); err != nil {
		d.env.Logger().Warn("the certificate of "+addr+" cannot be stored", "error", err)
	}
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{
		"start TLS, and compare the certificate with the stored one",
		fmt.Sprintf("send %q", out.shown()),
	}
	if req.Op == fetch.OpStat {
		steps = append(steps, "close the connection after the header")
	}
	return steps, nil
}

var _ io.WriterTo = response{}
