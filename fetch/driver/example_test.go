package driver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// load registers a scheme. The client sends a line with the path, and the server sends the content.
func load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-line", Port: 7777, Ops: []fetch.Op{fetch.OpGet}, Summary: "texts",
		Driver: fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			path, err := uri.Unescape(req.URL.Path())
			if err != nil {
				return nil, fetch.ErrURL.Wrap("", err)
			}
			conn, err := env.Dial(ctx, "tcp", req.URL.HostPort(7777))
			if err != nil {
				return nil, err
			}
			conn.Bind(ctx)
			if _, err := io.WriteString(conn, path+"\r\n"); err != nil {
				conn.Close()
				return nil, err
			}
			meta := fetch.Meta{Size: -1, ContentType: fetch.TypeByName(path), Framing: fetch.FramedByClose}
			return &fetch.Response{Meta: meta, Body: conn}, nil
		})})
}

// A driver for a fictitious protocol, and a client that uses it.
func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		line := make([]byte, len("/rain.txt\r\n"))
		io.ReadFull(conn, line)
		fmt.Fprintf(conn, "a poem about %s\n", bytes.TrimSpace(line))
	}()

	c := fetch.New(nil, load)
	defer c.Close()
	resp, err := c.Get(context.Background(), "x-line://"+l.Addr().String()+"/rain.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s %q %v\n", resp.ContentType, text, err)
	// Output:
	// text/plain "a poem about /rain.txt\n" <nil>
}
