package fetchhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/drain"
)

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	_, port, err := net.SplitHostPort(r.RequestURI)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || r.RequestURI != r.Host ||
		r.ContentLength != 0 { // RFC 9110, section 9.3.6
		reject(w, http.StatusBadRequest, "CONNECT must have a host and port, and no content")
		return
	}
	ctx, cancel := drain.Until(r.Context())
	defer cancel()
	if p.Authority != nil {
		if near := takeOver(w); near != nil {
			defer near.Close()
			p.read(ctx, near, r.Host)
		}
		return
	}
	far, err := p.dial(ctx, tunnelScheme, r.Host)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return
	}
	near := takeOver(w)
	if near == nil {
		far.Close()
		return
	}
	join(ctx, near, far)
}

// takeOver tells the client that it has a connection, and returns its end, or nil if that fails.
func takeOver(w http.ResponseWriter) net.Conn {
	c, err := hijack(w)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil
	}
	if _, err = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Close()
		return nil
	}
	return c
}

// hijack returns the connection of a request, with the bytes that have been read ahead. It does not use
// the reader of [http.Hijacker] after that: at every error, such as a deadline or the end of the client's
// output, that reader cancels the context of the request.
func hijack(w http.ResponseWriter) (net.Conn, error) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Time{})
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered()) // it can't fail
	return readWriter{Reader: io.MultiReader(bytes.NewReader(ahead), c), Conn: c}, nil
}

// read serves a client that has a connection to a host and port: it intercepts TLS, and passes on other
// protocols.
func (p *Proxy) read(ctx context.Context, c net.Conn, hostPort string) {
	_, port, _ := net.SplitHostPort(hostPort) // intercept and dial report errors
	stop := context.AfterFunc(ctx, func() { c.Close() })
	conn, isTLS := speaksTLS(c, port)
	if !stop() {
		return
	}
	if isTLS {
		p.intercept(ctx, conn, hostPort)
		return
	}
	if far, err := p.dial(ctx, tunnelScheme, hostPort); err == nil {
		join(ctx, conn, far)
	}
}

// A readWriter is a connection whose first bytes have been buffered.
type readWriter struct {
	io.Reader
	net.Conn
	visit *visit // ended by Close; may be nil
}

func (c readWriter) Close() error {
	if c.visit != nil {
		c.visit.end()
	}
	return c.Conn.Close()
}

func (c readWriter) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// ReadFrom lets the kernel move the bytes, where it can.
func (c readWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

func (c readWriter) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends the output of a connection, if it can be ended alone.
func closeWrite(c io.Writer) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// dial connects to a host and port that an untrusted client has named, with a scheme of LoadTunnel.
func (p *Proxy) dial(ctx context.Context, scheme, hostPort string) (io.ReadWriteCloser, error) {
	if p.Tunnels == nil {
		return nil, &fetch.Error{Op: "connect", URL: hostPort, Code: fetch.ErrPolicy,
			Err: errors.New("there are no tunnels")}
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err == nil && (host == "" || strings.ContainsAny(host, "/?#@")) {
		err = errors.New("no host name")
	}
	if err != nil {
		return nil, &fetch.Error{Op: "connect", URL: fetch.Printable(hostPort), Code: fetch.ErrURL, Err: err}
	}
	u, err := uri.Parse(scheme + "://" + net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	req := &fetch.Request{URL: u, Op: fetch.OpDial, From: unknownOrigin(), Anonymous: true}
	resp, err := p.Tunnels.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return nil, fmt.Errorf("fetchhttp: %s is not a connection", scheme)
	}
	return rw, nil
}

// join copies in both directions until both are at their end, or one fails, or ctx ends.
func join(ctx context.Context, near, far io.ReadWriteCloser) {
	closeBoth := func() {
		near.Close()
		far.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	ended := make(chan error, 2)
	transfer := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = closeWrite(to)
		}
		if err != nil {
			closeBoth()
		}
		ended <- err
	}
	go transfer(far, near)
	go transfer(near, far)
	<-ended
	<-ended
}
