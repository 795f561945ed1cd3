package fetch_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// loadSecureLine registers lineDriver over TLS for the scheme x-secure. For the path "/unannounced",
// it calls EndsUnannounced.
func loadSecureLine(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-secure", Port: 7, Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: fetch.DriverFunc(
		func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			conn, err := env.Dial(ctx, "tcp", req.URL.HostPort(7))
			if err != nil {
				return nil, err
			}
			if err := conn.Handshake(ctx, env.TLSConfig(ctx, req.URL.Host())); err != nil {
				return nil, err
			}
			conn.Bind(ctx)
			if _, err := io.WriteString(conn, req.URL.Path()+"\n"); err != nil {
				conn.Close()
				return nil, err
			}
			if req.URL.Path() == "/unannounced" {
				conn.EndsUnannounced()
			}
			return &fetch.Response{Meta: fetch.Meta{Size: -1, Framing: fetch.FramedByClose}, Body: conn, Parse: lines}, nil
		})})
}

// Over TLS, a body that ends with its connection is complete only if the server sent close_notify.
// The check applies to wrapped bodies and to all ways of reading.
func TestEndOfTLSConnections(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	addr := listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, serverTLS)
		path, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return
		}
		io.WriteString(conn, "one\ntwo\n")
		if path == "/whole\n" {
			conn.Close()
		}
	})
	wrap := func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			resp, err := next.Open(ctx, req)
			if err == nil {
				resp.Body = fetch.OnClose(resp.Body, func() {})
			}
			return resp, err
		})
	}
	o := &fetch.Options{Proxy: noProxy, TLS: clientTLS}
	wrapped := *o
	wrapped.Middleware = []fetch.Middleware{wrap}
	ways := map[string]func(*fetch.Response) error{
		"Read": func(resp *fetch.Response) error {
			_, err := io.Copy(io.Discard, struct{ io.Reader }{resp.Body})
			return err
		},
		"WriteTo": func(resp *fetch.Response) error {
			_, err := io.Copy(struct{ io.Writer }{io.Discard}, resp.Body)
			return err
		},
		"Entries": func(resp *fetch.Response) (last error) {
			for _, err := range resp.Entries {
				last = err
			}
			return last
		},
	}
	for way, read := range ways {
		for path, want := range map[string]fetch.Code{"/whole": "", "/unannounced": "", "/cut": fetch.ErrTruncated} {
			for _, o := range []*fetch.Options{o, &wrapped} {
				resp, err := fetch.New(o, loadSecureLine).Get(t.Context(), "x-secure://"+addr+path)
				if err != nil {
					t.Fatal(err)
				}
				if known := resp.Framing == fetch.FramedByProtocol; known != (path != "/unannounced") {
					t.Errorf("%s of %s: the end is known: %t", way, path, known)
				}
				err = read(resp)
				resp.Body.Close()
				var e *fetch.Error
				if fetch.CodeOf(err) != want || errors.As(err, &e) && !e.Retry {
					t.Errorf("%s of %s: error %v, want class %q", way, path, err, want)
				}
			}
		}
	}
}
