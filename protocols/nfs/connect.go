package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// The local ports that are tried. Those below are of known services.
const (
	lowestReserved  = 665
	highestReserved = 1023
	// attempts is how many reserved ports are tried before any port is taken.
	attempts = 8
)

// connect connects to a program of a server, from a reserved port if that is possible: it is how
// servers tell the system of a machine from its users. A foreign request is
// sent as any user would send it.
func (d *opener) connect(ctx context.Context, addr string) (*conn, error) {
	for n := 0; n < attempts && !d.unprivileged.Load() && !d.env.Foreign(ctx); n++ {
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

// localPort returns the port that a connection comes from, as far as this machine knows.
func localPort(c *driver.Conn) int {
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// with connects to another port of the server that l is connected to, and calls do.
func (d *opener) with(ctx context.Context, l *lease, port uint16, do func(*conn) error) error {
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

// lowestMount is the lowest port at which a server may say that it has the MOUNT protocol. Below are
// services that could be made to act by what is sent.
const lowestMount = 512

// mounting calls do with a connection to the MOUNT protocol: at the port that the options name, at
// that of NFS, or where the port mapper says.
func (d *opener) mounting(ctx context.Context, l *lease, t *target, do func(*conn) error) error {
	if port := d.opts.MountPort; port != 0 {
		return d.with(ctx, l, port, do)
	}
	err := d.with(ctx, l, t.url.Port(defaultPort), do)
	if err == nil || !elsewhere(err) {
		return err
	}
	var port uint32
	err = d.with(ctx, l, d.opts.PortmapPort, func(c *conn) error {
		c.cred = nfs3.Cred{} // it asks nobody
		return c.askPlain(nfs3.Getport, "of MOUNT", nfs3.PortOf(nfs3.ProgramMount, nfs3.Mnt.Version),
			func(d *xdr.Decoder) { port = d.Uint32() })
	})
	switch {
	case err != nil:
		return because(err, "the server has no public file handle, and its port mapper does not tell where MOUNT is")
	case port == 0:
		return &driver.Error{Code: driver.ErrRefused, Err: errors.New("the server has neither a public file handle nor version 3 of the MOUNT protocol")}
	case port < lowestMount || port > 65535:
		return &driver.Error{Code: driver.ErrPolicy, Reason: driver.Reason{Kind: driver.ReasonPort, Port: uint16(port)},
			Err: fmt.Errorf("the server named port %d for MOUNT", port)}
	}
	return d.with(ctx, l, uint16(port), do)
}

// elsewhere reports whether err says that there is no MOUNT protocol at this port. Some servers hang
// up on what they do not know.
func elsewhere(err error) bool {
	if e := (*driver.Error)(nil); errors.As(err, &e) {
		return e.Code == driver.ErrRefused && e.Reply.Code == 0 && e.Reply.Text != "PROC_UNAVAIL"
	}
	return isLost(err)
}

// because adds what an error is the reason for.
func because(err error, what string) error {
	var e *driver.Error
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
