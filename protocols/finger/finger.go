// Package finger asks who is who on a machine (RFC 1288).
//
//	finger://host/user       about one user
//	finger://user@host/      the same
//	finger://host//W user    the same, in more words
//	finger://host/           about all who are logged in
//
// The path is the request that is sent (draft-ietf-uri-url-finger). The answer
// is text, with the line ends that the server sends. It ends when the server
// closes the connection, so nobody can tell a cut answer from a whole one.
package finger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

const (
	port = 79
	// maxLine bounds the lines of an answer, in octets. Answers are for
	// people; what has no lines is something else.
	maxLine = 64 << 10
)

// Load registers the scheme finger.
func Load(env *fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "finger",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat},
		Summary: "what a machine tells of its users",
		Driver:  &driver{env},
	})
}

type driver struct{ env *fetch.Env }

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	query, err := request(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op != fetch.OpGet && req.Op != fetch.OpStat {
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.ErrUnsupported}
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(port))
	if err != nil {
		return nil, err
	}
	b := &body{conn: conn.(*wire.Conn), release: fetch.Bind(ctx, conn)}
	if err := d.ask(b, query); err != nil {
		b.Close()
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: b}
	resp.ContentType, resp.Size, resp.Framing = "text/plain", -1, fetch.FramedByClose
	resp.Name = fetch.SafeName(query)
	if req.Op == fetch.OpStat {
		b.Close()
		resp.Body = http.NoBody
	}
	return resp, nil
}

// request returns the line that a URL stands for.
func request(u uri.URI) (string, error) {
	if u.Host() == "" {
		return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("no host")}
	}
	if _, ok := u.Password(); ok {
		return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("password in a URL that cannot have one")}
	}
	query, err := uri.Unescape(u.URLPath())
	if err != nil {
		return "", err
	}
	// People forget that the slash before the W is not the one after the host.
	if strings.HasPrefix(query, "W ") {
		query = "/" + query
	}
	if user, ok := u.User(); ok {
		if query != "" {
			return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("a user both before the host and after it")}
		}
		query = user
	}
	return query, wire.CheckLine(query)
}

// ask sends the request and waits for the answer to begin.
func (d *driver) ask(b *body, query string) error {
	l := wire.NewLines(b.conn, 0)
	l.Trace = d.env.Trace()
	if err := l.Send(query); err != nil {
		return err
	}
	b.r = l.Reader()
	timeouts := d.env.Timeouts()
	b.conn.SetIdle(timeouts.Reply)
	defer b.conn.SetIdle(timeouts.Idle)
	if _, err := b.r.Peek(1); err != io.EOF {
		return err
	}
	return nil
}

// A body is an answer.
type body struct {
	conn    *wire.Conn
	release func() bool
	r       *wire.Reader
	line    int // octets of the line so far
}

func (b *body) Read(p []byte) (int, error) {
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

// Close closes the connection without waiting for the server.
func (b *body) Close() error {
	b.release()
	b.conn.Close()
	return nil
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	query, err := request(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("send %q", query)}, nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
