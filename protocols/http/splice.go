package http

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

// Net/http reads content into a buffer of the caller's. Where that is to be written to a file, the
// bytes need not pass through this process: a read of that very buffer lets the kernel move them
// from the connection to the file, and says how many there were. The buffer stays as it was.

const (
	// spliceLeast is the smallest content for which it pays, in bytes.
	spliceLeast = 256 << 10
	// spliceMost is how much one read moves. It exceeds readBuffer, or net/http would use a buffer
	// of its own.
	spliceMost = 1 << 20
)

// standIns are the buffers that are read into only in name.
var standIns = sync.Pool{New: func() any { return new([spliceMost]byte) }}

// A diversion is where the bytes go that are read into the stand-in.
type diversion struct {
	standIn *[spliceMost]byte
	w       io.Writer
	moved   int64
}

// A plainConn is a connection without TLS, of which a body may divert what it reads.
type plainConn struct {
	*driver.Conn
	to atomic.Pointer[diversion]
}

// Read implements net.Conn. Net/http also reads ahead for the next answer, in another goroutine,
// but into a buffer of its own.
func (c *plainConn) Read(p []byte) (int, error) {
	d := c.to.Load()
	if d == nil || len(p) == 0 || &p[0] != &d.standIn[0] {
		return c.Conn.Read(p)
	}
	n, err := c.Conn.WriteAvailable(d.w, int64(len(p)))
	d.moved += n
	return int(n), err
}

// connOf returns the connection that net/http has; nil if a caller's transport made it.
func connOf(c net.Conn) *driver.Conn {
	if plain, ok := c.(*plainConn); ok {
		return plain.Conn
	}
	return driver.ConnOf(c)
}

// splice writes the rest of the body to w, by diversion of what comes from the connection.
func (b *responseBody) splice(w io.Writer) (int64, error) {
	c := b.plain
	c.SetIdle(b.idle) // until the connection serves another request
	d := &diversion{standIn: standIns.Get().(*[spliceMost]byte), w: w}
	defer standIns.Put(d.standIn)
	c.to.Store(d)
	defer c.to.CompareAndSwap(d, nil) // the connection may serve another body already
	var written int64
	for {
		before := d.moved
		n, err := b.src.Read(d.standIn[:])
		if d.moved > before {
			written += int64(n)
		} else if n > 0 { // net/http had it already
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
			return written, err // of the file
		}
		if err = b.ended(err); err == io.EOF {
			err = nil
		}
		return written, err
	}
}

// idleOfConn returns the idle time of connections: it must not cut short the wait for a reply. 0
// means none.
func idleOfConn(t driver.Timeouts) time.Duration {
	if t.Reply == 0 {
		return 0
	}
	return max(t.Reply, t.Idle)
}
