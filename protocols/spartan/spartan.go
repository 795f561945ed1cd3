// Package spartan retrieves spartan URLs: one request and one response a connection, in clear (the
// Spartan protocol, of 2021-03-24).
//
//	spartan://host/path          a page or a file
//	spartan://host/path?a%20b    the same, once "a b" was sent: the data block of the request
//
// A page is gemtext; listed, it yields its links, among them, as searches, those to where text can
// be sent ("=:"). The response ends when the server closes the connection, so a truncated one
// cannot be told from a complete one.
package spartan

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

const (
	port = 300
	// maxLine bounds the line of a request, in bytes. The protocol has no limit; this is that of
	// Gemini, whose servers many are.
	maxLine = 1024
)

// Load registers the scheme spartan.
func Load(env driver.Env, reg *driver.Registry) {
	reg.Register(driver.Scheme{
		Name:    "spartan",
		Port:    port,
		Ops:     []driver.Op{driver.OpGet, driver.OpStat, driver.OpList},
		Traits:  driver.Traits{Tree: true, Pages: true},
		Summary: "pages and files by the Spartan protocol, which can be sent text",
		Driver:  &opener{env},
	})
}

type opener struct{ env driver.Env }

// A request is what a URL asks for.
type request struct {
	addr string
	line string // without its end
	data string
}

// parse returns the request for a URL.
func parse(u uri.URI) (request, error) {
	host, err := smallnet.Host(u)
	if err != nil {
		return request{}, err
	}
	query, _ := u.Query()
	req := request{addr: u.HostPort(port), data: uri.UnescapeRaw(query)}
	req.line = fmt.Sprintf("%s %s %d", host, smallnet.Path(u), len(req.data))
	if n := len(req.line); n > maxLine {
		return request{}, &driver.Error{Code: driver.ErrURL, Err: fmt.Errorf("the request has %d bytes, and a server takes %d", n, maxLine)}
	}
	return req, wire.CheckLine(req.line)
}

// Open implements driver.Driver.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if d.env.Foreign(ctx) && wire.CheckLine(out.data) != nil {
		// Other protocols would take the lines for commands.
		return nil, &driver.Error{Code: driver.ErrPolicy, Err: errors.New("others may not have lines of text sent to a server"),
			Hint: "open the URL itself, if the text is meant for that server"}
	}
	var a answer
	question := driver.Question{Addr: out.addr, Lines: []string{out.line}, Data: out.data}
	err = driver.Ask(ctx, d.env, question, func(conn *driver.Conn) (err error) {
		a.Answer, err = headers.Read(conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.Respond(req, a.response)
}

// Explain implements driver.Explainer.
func (d *opener) Explain(req *driver.Request) ([]string, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{fmt.Sprintf("send %q", out.line)}
	if out.data != "" {
		steps = append(steps, fmt.Sprintf("send %d bytes of data: %q", len(out.data), out.data[:min(len(out.data), 80)]))
	}
	if req.Op == driver.OpStat {
		steps = append(steps, "close the connection after the header")
	}
	return steps, nil
}

var (
	_ driver.Driver    = (*opener)(nil)
	_ driver.Explainer = (*opener)(nil)
)
