package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// The protocol. A connection serves one request:
//
//	server: NOTES 1 a greeting
//	client: GET name        or STAT name, or LIST name of a directory
//	server: OK size         and, except for STAT, size bytes
//	        NO reason       if there is no such note
//	        BUSY reason     if the client should retry later
//
// A listing has one line per member: its name, followed by "/" for a directory.
//
// In a URL, x-note://host:port/name, the path is the percent-encoded name.
const (
	port     = 4711
	greeting = "NOTES 1 "
	maxLine  = 1000
)

// Load registers the scheme. The driver reaches the network only through env.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-note", Port: port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Summary: "notes on a server", Driver: &opener{env}})
}

type opener struct{ env fetch.Env }

var verbs = map[fetch.Op]string{fetch.OpGet: "GET", fetch.OpStat: "STAT", fetch.OpList: "LIST"}

// Open implements fetch.Driver.
func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	name, err := uri.Unescape(strings.Trim(req.URL.Path(), "/")) // refuses CR, LF and NUL
	if err != nil {
		return nil, err
	}
	if _, query := req.URL.Query(); query || req.URL.Host() == "" {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: errors.New("want x-note://host/name")}
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(port)) // applies policy and proxy
	if err != nil {
		return nil, err
	}
	conn.Bind(ctx) // the end of ctx ends all later reads and writes
	lines := wire.NewLines(conn, maxLine)
	resp, err := d.ask(conn, lines, verbs[req.Op]+" "+name)
	if err != nil {
		conn.Close()
		return nil, err
	}
	resp.URL, resp.Name, resp.ContentType = req.URL, fetch.SafeName(req.URL.LastSegment()),
		"text/plain; charset=utf-8"
	switch req.Op {
	case fetch.OpStat:
		conn.Close()
		resp.Body = fetch.NoBody
		return resp, nil
	case fetch.OpList:
		resp.Kind, resp.Parse = fetch.KindListing,
			func(r io.Reader) iter.Seq2[fetch.Entry, error] { return entries(req.URL, r) }
	}
	// The client compares the size with the bytes received, so a truncated response is an error.
	resp.Body = &body{io.LimitReader(lines, resp.Size), conn}
	return resp, nil
}

// ask sends a command and reads the reply, within the reply timeout.
func (d *opener) ask(conn *fetch.Conn, lines *wire.Lines, command string) (*fetch.Response, error) {
	defer conn.ReplyTimeout(d.env.Timeouts().Reply)()
	hello, err := lines.Line()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(hello, greeting) {
		return nil, &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("not a notes server"),
			Reply: fetch.Reply{Text: hello}}
	}
	if err := lines.Send(command); err != nil {
		return nil, err
	}
	line, err := lines.Line()
	if err != nil {
		return nil, err
	}
	reply := fetch.Reply{Text: line} // the server's own words, for the user
	switch status, rest, _ := strings.Cut(line, " "); status {
	case "OK":
		size, err := strconv.ParseUint(rest, 10, 62)
		if err != nil {
			return nil, &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("malformed size: %w", err),
				Reply: reply}
		}
		return &fetch.Response{Meta: fetch.Meta{Size: int64(size), Reply: reply}}, nil
	case "NO":
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: reply}
	case "BUSY":
		return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true, Reply: reply}
	}
	return nil, &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("unknown status in reply"),
		Reply: reply}
}

// A body is the content of a note or a listing. Close does not wait for the server.
type body struct {
	io.Reader
	conn *fetch.Conn
}

func (b *body) Close() error { return b.conn.Close() }

// entries parses a listing. The length of its lines is limited by bufio.Scanner.
func entries(dir uri.URI, r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			name, isDir := strings.CutSuffix(lines.Text(), "/")
			u, err := dir.JoinPath(lines.Text())
			if err != nil || name == "" || name == "." || strings.Contains(name, "/") {
				continue // not a name
			}
			e := fetch.Entry{Name: name, Rel: "item", URL: u, Size: -1}
			if isDir {
				e.Kind = fetch.EntryListing
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(fetch.Entry{}, err)
		}
	}
}
