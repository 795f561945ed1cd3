// Package finger looks up the users of a host (RFC 1288).
//
//	finger://host/user       information about a user
//	finger://user@host/      the same
//	finger://host//W user    the same, in verbose form
//	finger://host/           the users who are logged in
//
// The path is the query to send (draft-ietf-uri-url-finger). The body is text, with the line ends
// that the server sent. It ends when the server closes the connection, so truncation cannot be
// detected.
package finger

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	port = 79
	// maxLine limits the lines of a response, in bytes. A longer line is not human-readable text.
	maxLine = 64 << 10
)

// Load registers the scheme finger.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "finger",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat},
		Summary: "information about the users of a host",
		Driver:  &opener{env},
	})
}

type opener struct{ env fetch.Env }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	line, err := query(req.URL)
	if err != nil {
		return nil, err
	}
	b := &response{}
	question := driver.Question{Addr: req.URL.HostPort(port), Lines: []string{line}}
	if err := driver.Ask(ctx, d.env, question, b.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: b}
	resp.ContentType, resp.Size, resp.Framing = "text/plain", -1, fetch.FramedByClose
	resp.Text, resp.Name = true, fetch.SafeName(line)
	return driver.DropBody(req, resp), nil
}

func query(u uri.URI) (string, error) {
	if u.Host() == "" {
		return "", fetch.ErrURL.Errorf("the URL has no host")
	}
	if _, ok := u.Password(); ok {
		return "", fetch.ErrURL.Errorf("a finger URL cannot have a password")
	}
	query, err := uri.Unescape(u.URLPath())
	if err != nil {
		return "", err
	}
	// Users often omit the second slash before W.
	if strings.HasPrefix(query, "W ") {
		query = "/" + query
	}
	if user, ok := u.User(); ok {
		if query != "" {
			return "", fetch.ErrURL.Errorf("a user both before and after the host")
		}
		query = user
	}
	return query, wire.CheckLine(query)
}

type response struct {
	io.Closer
	r    *wire.Reader
	line int // length of the current line so far, in bytes
}

// begin waits for the first bytes of the response, which may be empty.
func (b *response) begin(conn *fetch.Conn) error {
	b.Closer, b.r = conn, wire.NewReader(conn, 0)
	conn.PieceLines()
	if _, err := b.r.Peek(1); err != io.EOF {
		return err
	}
	return nil
}

func (b *response) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			b.line += len(rest)
			break
		}
		if b.line+i > maxLine {
			return 0, &wire.LineTooLongError{Max: maxLine}
		}
		b.line, rest = 0, rest[i+1:]
	}
	if b.line > maxLine {
		return 0, &wire.LineTooLongError{Max: maxLine}
	}
	return n, err
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	line, err := query(req.URL)
	return fetch.Meta{Name: fetch.SafeName(line), ContentType: "text/plain"}, err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	line, err := query(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("send %q", line)}, nil
}
