package nfs

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

const (
	// maxData is the largest count of a READ, in bytes.
	maxData = 128 << 10
	// maxRecord limits the size of a reply, in bytes.
	maxRecord = 1 << 20
)

// A buffer holds the reply to a READ.
type buffer [maxData + 512]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A conn is a connection to an RPC program of a server. One goroutine uses it at a time.
type conn struct {
	env      fetch.Env
	net      *fetch.Conn
	r        *bufio.Reader
	cred     nfs3.Cred
	reserved bool // the local port is reserved
	xid      uint32
	out      []byte            // queued calls
	waiting  map[uint32]bool   // calls without a reply yet
	early    map[uint32]*reply // replies received but not yet requested, by XID
	err      error             // makes the connection unusable
}

type reply struct {
	results  *xdr.Decoder
	rejected *nfs3.Rejection
	buf      *buffer
}

func (r *reply) release() {
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}
}

func newConn(env fetch.Env, c *fetch.Conn, reserved bool) *conn {
	return &conn{env: env, net: c, r: bufio.NewReaderSize(c, 16<<10), reserved: reserved, xid: rand.Uint32(),
		waiting: make(map[uint32]bool), early: make(map[uint32]*reply)}
}

func (c *conn) queue(p nfs3.Proc, args func([]byte) []byte) (xid uint32) {
	c.xid++
	c.out = nfs3.AppendCall(c.out, c.xid, p, c.cred, args)
	c.waiting[c.xid] = true
	return c.xid
}

func (c *conn) flush() error {
	if c.err == nil && len(c.out) > 0 {
		if _, err := c.net.Write(c.out); err != nil {
			c.err = connError(err)
		}
		c.out = c.out[:0]
	}
	return c.err
}

// Replies to READ, READDIR and READDIRPLUS are content, which has the idle timeout.
func (c *conn) receive(p nfs3.Proc, xid uint32) (*reply, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	content := p == nfs3.Read || p == nfs3.Readdirplus || p == nfs3.Readdir
	if !content {
		defer c.net.ReplyTimeout(c.env.Timeouts().Reply)()
	}
	for {
		if r, ok := c.early[xid]; ok {
			delete(c.early, xid)
			if r.rejected != nil {
				r.release()
				return r, c.rejection(p, r.rejected)
			}
			return r, nil
		}
		got, r, err := c.read(content)
		if err == nil && !c.waiting[got] {
			r.release()
			err = fetch.ErrProtocol.Errorf("unsolicited reply")
		}
		if err != nil {
			c.err = connError(err)
			return nil, c.err
		}
		delete(c.waiting, got)
		c.early[got] = r
	}
}

func (c *conn) read(content bool) (xid uint32, _ *reply, err error) {
	if content {
		defer c.net.Piece()()
	}
	r := &reply{buf: buffers.Get().(*buffer)}
	record, err := xdr.ReadRecord(c.r, r.buf[:], maxRecord)
	if err != nil {
		r.release()
		return 0, nil, err
	}
	if xid, r.results, err = nfs3.ParseReply(record); err != nil && !errors.As(err, &r.rejected) {
		r.release()
		return 0, nil, err
	}
	return xid, r, nil
}

func (c *conn) decodeResults(r *reply, decode func(*xdr.Decoder)) error {
	defer r.release()
	decode(r.results)
	if err := r.results.Err(); err != nil {
		c.err = connError(err)
		return c.err
	}
	return nil
}

// call decodes the results if the status is OK. The trace shows what.
func (c *conn) call(p nfs3.Proc, what string, args func([]byte) []byte, decode func(*xdr.Decoder)) error {
	status := nfs3.OK
	err := c.callPlain(p, what, args, func(d *xdr.Decoder) {
		if status = nfs3.Status(d.Uint32()); status == nfs3.OK {
			decode(d)
		}
	})
	if trace := c.net.Line(); trace != nil && err == nil {
		trace(false, status.String())
	}
	if err == nil && status != nfs3.OK {
		err = c.refusal(p, status)
	}
	return err
}

// callPlain is like call, for procedures whose results have no status.
func (c *conn) callPlain(p nfs3.Proc, what string, args func([]byte) []byte,
	decode func(*xdr.Decoder)) error {
	r, err := c.receive(p, c.queueTraced(p, what, args))
	if err != nil {
		return err
	}
	return c.decodeResults(r, decode)
}

func (c *conn) queueTraced(p nfs3.Proc, what string, args func([]byte) []byte) (xid uint32) {
	if trace := c.net.Line(); trace != nil {
		trace(true, p.Name+" "+fetch.Printable(what))
	}
	return c.queue(p, args)
}

func (c *conn) lookup(dir, name string) (node, error) {
	var f nfs3.LookupResult
	err := c.call(nfs3.Lookup, name, nfs3.LookupArgs(dir, name),
		func(d *xdr.Decoder) { f = nfs3.ParseLookup(d) })
	if err != nil {
		return node{}, err
	}
	return c.node(f)
}

// node returns the node for a LOOKUP result. It gets missing attributes with GETATTR.
func (c *conn) node(f nfs3.LookupResult) (node, error) {
	if f.Handle == "" {
		c.err = fetch.ErrProtocol.Errorf("empty file handle")
		return node{}, c.err
	}
	if f.Attr != nil {
		return node{f.Handle, *f.Attr}, nil
	}
	var a nfs3.Attr
	err := c.call(nfs3.Getattr, "", nfs3.HandleArgs(f.Handle), func(d *xdr.Decoder) { a = nfs3.ParseAttr(d) })
	return node{f.Handle, a}, err
}

func (c *conn) readlink(handle string) (text string, err error) {
	err = c.call(nfs3.Readlink, "", nfs3.HandleArgs(handle),
		func(d *xdr.Decoder) { text = nfs3.ParseLink(d) })
	return text, err
}

// A lease is a connection in use, bound to the context of one request.
type lease struct {
	*conn
	*driver.Lease[string, *conn]
}
