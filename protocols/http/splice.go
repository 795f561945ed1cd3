package http

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Net/http reads a body into a buffer of the caller. If the bytes go to a file, they need not pass
// through this process. A read into the stand-in buffer makes the kernel move the bytes from the
// connection to the file and returns their number. The buffer is not changed.

const (
	// spliceLeast is the smallest body that is spliced, in bytes.
	spliceLeast = 256 << 10
	// spliceMost is the size of one read. It exceeds readBuffer; otherwise net/http would use a
	// buffer of its own.
	spliceMost = 1 << 20
)

// standIns holds stand-in buffers. Reads into them are diverted.
var standIns = sync.Pool{New: func() any { return new([spliceMost]byte) }}

// A diversion is the destination of bytes that are read into the stand-in.
type diversion struct {
	standIn *[spliceMost]byte
	w       io.Writer
	spliced int64
}

// A plainConn is a connection without TLS whose reads can be diverted.
type plainConn struct {
	*fetch.Conn
	to atomic.Pointer[diversion]
	in incoming
}

// Read implements net.Conn. Net/http also reads ahead for the next response in another goroutine,
// but into its own buffer.
func (c *plainConn) Read(p []byte) (int, error) {
	d := c.to.Load()
	if d == nil || len(p) == 0 || &p[0] != &d.standIn[0] || c.in.hasBuffered() {
		return c.in.read(c.Conn, p)
	}
	n, err := c.Conn.WriteAvailable(d.w, int64(len(p)))
	d.spliced += n
	return int(n), err
}

func (c *plainConn) Write(p []byte) (int, error) {
	c.in.wrote()
	return c.Conn.Write(p)
}

func incomingOf(c net.Conn) *incoming {
	switch c := c.(type) {
	case *plainConn:
		return &c.in
	case *tlsConn:
		return &c.in
	}
	return nil
}

// connOf returns the connection below c. It is nil if a caller's transport made it.
func connOf(c net.Conn) *fetch.Conn {
	switch c := c.(type) {
	case *plainConn:
		return c.Conn
	case *tlsConn:
		return c.Conn
	}
	return fetch.ConnOf(c)
}

// splice writes the rest of the body to w by diverting reads of the connection.
func (b *responseBody) splice(w io.Writer) (int64, error) {
	c := b.plain
	c.SetIdle(b.idle) // until the connection serves another request
	d := &diversion{standIn: standIns.Get().(*[spliceMost]byte), w: w}
	defer standIns.Put(d.standIn)
	c.to.Store(d)
	defer c.to.CompareAndSwap(d, nil) // the connection may serve another body already
	var written int64
	for {
		before := d.spliced
		n, err := b.src.Read(d.standIn[:])
		if d.spliced > before {
			written += int64(n)
		} else if n > 0 { // buffered by net/http
			m, werr := w.Write(d.standIn[:n])
			if written += int64(m); werr != nil {
				return written, werr
			}
		}
		if err == nil {
			continue
		}
		if local := (*fs.PathError)(nil); errors.As(err, &local) {
			b.failed = true
			return written, err // about the file
		}
		if err = b.ended(err); err == io.EOF {
			err = nil
		}
		return written, err
	}
}

// idleOfConn returns the idle timeout of connections. It is not shorter than the reply timeout. 0
// means none.
func idleOfConn(t fetch.Timeouts) time.Duration {
	if t.Reply == 0 {
		return 0
	}
	return max(t.Reply, t.Idle)
}
