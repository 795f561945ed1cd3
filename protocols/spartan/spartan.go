// Package spartan retrieves spartan URLs: one request and one response per connection, in plaintext
// (the Spartan protocol, of 2021-03-24).
//
//	spartan://host/path          a page or a file
//	spartan://host/path?a%20b    the same, with "a b" as the data block of the request
//
// A page is gemtext; listed, it yields its links. Link lines that prompt for text ("=:") are
// searches. The response ends when the server closes the connection, so a truncated one looks
// complete.
package spartan

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

const (
	port = 300
	// maxLine limits the line of a request, in bytes. The protocol has no limit; this is Gemini's,
	// because many servers implement both.
	maxLine = 1024
)

// Load registers the scheme spartan.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "spartan",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Traits:  fetch.Traits{Tree: true, Pages: true},
		Summary: "pages and files over the Spartan protocol, which accepts text",
		Driver:  &opener{env, reg},
	})
}

type opener struct {
	env fetch.Env
	reg *fetch.Registry
}

type request struct {
	addr string
	line string // without CR LF
	data string
}

func parse(u uri.URI) (request, error) {
	host, err := smallnet.Host(u)
	if err != nil {
		return request{}, err
	}
	query, _ := u.Query()
	req := request{addr: u.HostPort(port), data: uri.UnescapeRaw(query)}
	req.line = fmt.Sprintf("%s %s %d", host, smallnet.Path(u), len(req.data))
	if n := len(req.line); n > maxLine {
		return request{}, fetch.ErrURL.Errorf("the request has %d bytes, the limit is %d", n, maxLine)
	}
	return req, wire.CheckLine(req.line)
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if d.env.Foreign(ctx) && wire.CheckLine(out.data) != nil {
		// Servers of other protocols would execute the lines as commands.
		return nil, &fetch.Error{Code: fetch.ErrPolicy,
			Err:  errors.New("an untrusted request may not send lines of text"),
			Hint: "open the URL directly if the text is intended for that server"}
	}
	r := response{schemes: d.reg}
	question := driver.Question{Addr: out.addr, Lines: []string{out.line}, Data: out.data}
	err = driver.Ask(ctx, d.env, question, func(conn *fetch.Conn) (err error) {
		r.Response, err = headerFormat.Read(conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.Respond(req, r.interpret)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	out, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{fmt.Sprintf("send %q", out.line)}
	if out.data != "" {
		begin := out.data[:min(len(out.data), 80)]
		steps = append(steps, fmt.Sprintf("send %d bytes of data: %q", len(out.data), begin))
	}
	if req.Op == fetch.OpStat {
		steps = append(steps, "close the connection after the header")
	}
	return steps, nil
}
