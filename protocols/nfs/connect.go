package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// The range of reserved local ports to try. Lower ports belong to well-known services.
const (
	lowestReserved  = 665
	highestReserved = 1023
	// maxPortAttempts is the number of reserved ports to try before using any port.
	maxPortAttempts = 8
)

// connect connects to an RPC program of a server, from a reserved port if possible. Many servers
// accept only reserved ports, because only root may use them. Foreign requests (see
// fetch.Env.Foreign) never use a reserved port.
func (d *opener) connect(ctx context.Context, addr string) (*conn, error) {
	for n := 0; n < maxPortAttempts && !d.unprivileged.Load() && !d.env.Foreign(ctx); n++ {
		port := lowestReserved + rand.N(highestReserved-lowestReserved+1)
		c, err := d.env.DialFrom(ctx, "tcp", addr, uint16(port))
		switch {
		case err == nil:
			return newConn(d.env, c, localPort(c) == port), nil
		case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
			d.unprivileged.Store(true)
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
		default:
			return nil, err
		}
	}
	c, err := d.env.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return newConn(d.env, c, false), nil
}

func localPort(c *fetch.Conn) int {
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func (d *opener) withConn(ctx context.Context, l *lease, port uint16, do func(*conn) error) error {
	host, _, err := net.SplitHostPort(l.net.RemoteAddr().String())
	if err != nil {
		return err
	}
	c, err := d.connect(ctx, net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer c.net.Abort()
	c.cred = d.cred(ctx)
	release := c.net.Bind(ctx)
	defer release()
	return do(c)
}

// Services on ports below lowestMount might act on the data that is sent.
const lowestMount = 512

// The port is that in the options, or else the NFS port, or else the one from the port mapper.
func (d *opener) withMountConn(ctx context.Context, l *lease, t *target, do func(*conn) error) error {
	if port := d.opts.MountPort; port != 0 {
		return d.withConn(ctx, l, port, do)
	}
	err := d.withConn(ctx, l, t.url.Port(defaultPort), do)
	if err == nil || !isNotMount(err) {
		return err
	}
	var port uint32
	err = d.withConn(ctx, l, d.opts.PortmapPort, func(c *conn) error {
		c.cred = nfs3.Cred{} // the port mapper needs no credentials
		return c.callPlain(nfs3.Getport, "of MOUNT", nfs3.GetportArgs(nfs3.ProgramMount, nfs3.Mnt.Version),
			func(d *xdr.Decoder) { port = d.Uint32() })
	})
	switch {
	case err != nil:
		return annotate(err,
			"the server has no public file handle, and its port mapper did not return the MOUNT port")
	case port == 0:
		return fetch.ErrRefused.Errorf("the server has neither a public file handle nor version 3 of the " +
			"MOUNT protocol")
	case port < lowestMount || port > 65535:
		return &fetch.Error{Code: fetch.ErrPolicy,
			Reason: fetch.Reason{Kind: fetch.ReasonPort, Port: uint16(port)},
			Err:    fmt.Errorf("the port mapper returned port %d for MOUNT", port)}
	}
	return d.withConn(ctx, l, uint16(port), do)
}

// Some servers close the connection after an unknown call.
func isNotMount(err error) bool {
	if e := (*fetch.Error)(nil); errors.As(err, &e) {
		return e.Code == fetch.ErrRefused && e.Reply.Code == 0 && e.Reply.Text != "PROC_UNAVAIL"
	}
	return isLost(err)
}

func annotate(err error, what string) error {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	dup := *e
	dup.Err = errors.New(what)
	if e.Err != nil {
		dup.Err = fmt.Errorf("%s: %w", what, e.Err)
	}
	return &dup
}
