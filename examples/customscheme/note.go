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

	"github.com/urlget/urlget/fetch/driver"
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
func Load(env driver.Env, reg *driver.Registry) {
	reg.Register(driver.Scheme{Name: "x-note", Port: port, Ops: []driver.Op{driver.OpGet, driver.OpStat, driver.OpList},
		Summary: "notes on a server", Driver: &opener{env}})
}

type opener struct{ env driver.Env }

var verbs = map[driver.Op]string{driver.OpGet: "GET", driver.OpStat: "STAT", driver.OpList: "LIST"}

// Open implements driver.Driver.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	name, err := uri.Unescape(strings.Trim(req.URL.Path(), "/")) // refuses CR, LF and NUL
	if err != nil {
		return nil, err
	}
	if _, query := req.URL.Query(); query || req.URL.Host() == "" {
		return nil, &driver.Error{Code: driver.ErrURL, Err: errors.New("want x-note://host/name")}
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
	resp.URL, resp.Name, resp.ContentType = req.URL, driver.SafeName(req.URL.LastSegment()), "text/plain; charset=utf-8"
	switch req.Op {
	case driver.OpStat:
		conn.Close()
		resp.Body = driver.NoBody
		return resp, nil
	case driver.OpList:
		resp.Kind, resp.Parse = driver.KindListing, func(r io.Reader) iter.Seq2[driver.Entry, error] { return entries(req.URL, r) }
	}
	// The client compares the size with the bytes received, so a truncated response is an error.
	resp.Body = &body{io.LimitReader(lines, resp.Size), conn}
	return resp, nil
}

// ask sends a command and reads the reply, within the reply timeout.
func (d *opener) ask(conn *driver.Conn, lines *wire.Lines, command string) (*driver.Response, error) {
	defer conn.ReplyTimeout(d.env.Timeouts().Reply)()
	hello, err := lines.Line()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(hello, greeting) {
		return nil, &driver.Error{Code: driver.ErrProtocol, Err: errors.New("not a notes server"), Reply: driver.Reply{Text: hello}}
	}
	if err := lines.Send(command); err != nil {
		return nil, err
	}
	line, err := lines.Line()
	if err != nil {
		return nil, err
	}
	reply := driver.Reply{Text: line} // the server's own words, for the user
	switch status, rest, _ := strings.Cut(line, " "); status {
	case "OK":
		size, err := strconv.ParseUint(rest, 10, 62)
		if err != nil {
			return nil, &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("malformed size: %w", err), Reply: reply}
		}
		return &driver.Response{Meta: driver.Meta{Size: int64(size), Reply: reply}}, nil
	case "NO":
		return nil, &driver.Error{Code: driver.ErrNotFound, Reply: reply}
	case "BUSY":
		return nil, &driver.Error{Code: driver.ErrBusy, Retry: true, Reply: reply}
	}
	return nil, &driver.Error{Code: driver.ErrProtocol, Err: errors.New("unknown status in reply"), Reply: reply}
}

// A body is the content of a note or a listing. Close does not wait for the server.
type body struct {
	io.Reader
	conn *driver.Conn
}

func (b *body) Close() error { return b.conn.Close() }

// entries parses a listing. The length of its lines is limited by bufio.Scanner.
func entries(dir uri.URI, r io.Reader) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			name, isDir := strings.CutSuffix(lines.Text(), "/")
			u, err := dir.JoinPath(lines.Text())
			if err != nil || name == "" || name == "." || strings.Contains(name, "/") {
				continue // not a name
			}
			e := driver.Entry{Name: name, Rel: "item", URL: u, Size: -1}
			if isDir {
				e.Kind = driver.EntryListing
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(driver.Entry{}, err)
		}
	}
}
