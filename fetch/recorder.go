package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/internal/exchange"
)

// A Recorder observes what a client does. It is called at the beginning of every exchange, that is,
// for each hop of a redirect and each URL that a driver opens on the way, and returns the functions
// to call during it. If it returns nil, the exchange is not recorded. A Recorder may be called
// concurrently.
//
// Traces of the conversation, metrics, spans and archives are all made from a Recording, so all
// that a driver has to do for them is mask its secrets.
type Recorder func(ctx context.Context, req *Request) *Recording

// A Recording is notified of the progress of one exchange. Functions that are nil are not called.
// The others must be quick, must not retain the slices passed to them, and must not close the
// response. They may be called concurrently if the protocol uses several connections, as FTP does,
// but none is called during or after End.
//
// Sent and Received get the bytes of each connection in order, above TLS and below everything else.
// Secrets that a driver sends are masked by asterisks, and what is typed into a session is left
// out. Messages of HTTP/2 and HTTP/3 appear as HTTP/1.1 would have written them, without transfer
// coding. While Received is set, the kernel cannot move bytes directly from a socket to a file. SFTP
// has only lines, because SSH encrypts what its driver sends.
type Recording struct {
	// Peer is called when a connection, new or reused, begins to serve the exchange, and again when
	// TLS begins on it. Connections are numbered from 1.
	Peer func(conn int, addr net.Addr, state *tls.ConnectionState)
	// Lookup is called with the addresses that the system's resolver has found for a host, in its
	// order, when a connection is made for the exchange. How long they hold it does not say.
	Lookup func(host string, addrs []netip.Addr)
	// Sent is called before the bytes are written.
	Sent func(conn int, p []byte)
	// Received is called with the bytes as they arrive, content included.
	Received func(conn int, p []byte)
	// Line is called with each command and reply, without its line ending and with secrets masked.
	// Protocols without lines describe their messages. Content is not included.
	Line func(sent bool, line string)
	// Response is called once the server has granted the request or named another location, before
	// Body is read. It must not read Body.
	Response func(*driver.Response)
	// Content is called with the content as it is read, even where that differs from the bytes on
	// the connection: decoded, or assembled from messages of the protocol. That of a session is what
	// it shows.
	Content func(p []byte)
	// Entry is called with the members of a listing as the caller ranges over them. A caller that
	// reads Body alone sees none: then Parse of the response makes them of the content, at the end.
	Entry func(Entry)
	// Size is called once, before End, with the number of bytes of content that were read. Unlike
	// Content it costs nothing.
	Size func(n int64)
	// End is called once, last, with nil if the exchange was completed and with the reason if not.
	// If Body is closed before its end, that is net.ErrClosed.
	End func(err error)
}

// JoinRecorders returns a Recorder that notifies all of list.
func JoinRecorders(list ...Recorder) Recorder {
	return func(ctx context.Context, req *Request) *Recording {
		var all []*Recording
		for _, r := range list {
			if x := r(ctx, req); x != nil {
				all = append(all, x)
			}
		}
		switch len(all) {
		case 0:
			return nil
		case 1:
			return all[0]
		}
		return joinRecordings(all)
	}
}

func joinRecordings(all []*Recording) *Recording {
	joined := &Recording{}
	for _, x := range all {
		if x.Peer != nil {
			before := joined.Peer
			joined.Peer = func(conn int, addr net.Addr, state *tls.ConnectionState) {
				if before != nil {
					before(conn, addr, state)
				}
				x.Peer(conn, addr, state)
			}
		}
		joined.Lookup = both2(joined.Lookup, x.Lookup)
		joined.Sent = both2(joined.Sent, x.Sent)
		joined.Received = both2(joined.Received, x.Received)
		joined.Line = both2(joined.Line, x.Line)
		joined.Response = both(joined.Response, x.Response)
		joined.Content = both(joined.Content, x.Content)
		joined.Entry = both(joined.Entry, x.Entry)
		joined.Size = both(joined.Size, x.Size)
		joined.End = both(joined.End, x.End)
	}
	return joined
}

// both returns a function that calls f and then g, either of which may be nil.
func both[A any](f, g func(A)) func(A) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(a A) { f(a); g(a) }
}

func both2[A, B any](f, g func(A, B)) func(A, B) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

// RecordLines returns a Recorder that passes the lines of all conversations to f, which may be called
// concurrently.
func RecordLines(f func(sent bool, line string)) Recorder {
	exchange := &Recording{Line: f}
	return func(context.Context, *Request) *Recording { return exchange }
}

// A recording is an exchange being recorded. Its methods may be called on nil.
type recording struct {
	*exchange.Recording
	// responded, shown and member are Response, Content and Entry of the Recording, which do nothing
	// once the recording has ended; nil if it has none.
	responded func(*driver.Response)
	shown     func([]byte)
	member    func(Entry)
	size      func(int64)  // Size of the Recording; may be nil
	done      func(error)  // End of the Recording; may be nil
	read      atomic.Int64 // bytes of content
}

func newRecording(x *Recording) *recording {
	r := exchange.NewRecording(exchange.Hooks{Peer: x.Peer, Lookup: x.Lookup, Sent: x.Sent, Received: x.Received, Line: x.Line})
	return &recording{Recording: r, responded: exchange.Open(r, x.Response), shown: exchange.Open(r, x.Content),
		member: exchange.Open(r, x.Entry), size: x.Size, done: x.End}
}

func (r *recording) response(resp *driver.Response) {
	if r != nil && r.responded != nil {
		r.responded(resp)
	}
}

// content returns the function to call with the content, or nil.
func (r *recording) content() func([]byte) {
	if r == nil {
		return nil
	}
	return r.shown
}

// entry returns what is to be called with the members of a listing; nil if nobody wants them.
func (r *recording) entry() func(Entry) {
	if r == nil {
		return nil
	}
	return r.member
}

// end ends the recording. Later calls have no effect.
func (r *recording) end(err error) {
	if r == nil {
		return
	}
	r.End(func() {
		if r.size != nil {
			r.size(r.read.Load())
		}
		if r.done != nil {
			r.done(err)
		}
	})
}

// count adds n to the number of bytes of content read.
func (r *recording) count(n int64) {
	if r != nil {
		r.read.Add(n)
	}
}
