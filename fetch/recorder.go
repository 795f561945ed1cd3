package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// A Recorder observes the exchanges of a Client. Record is called at the start of each exchange:
// for each hop of a redirect and for each URL that a driver opens. It returns the functions to call
// during the exchange. If it returns nil, the exchange is not recorded. Record must be safe for
// concurrent use.
//
// Traces, metrics, spans and archives are all made from a Recording. For them, a driver only has to
// mask its secrets. The connections of a driver record themselves; see [RecordingOf] for others.
type Recorder interface {
	Record(ctx context.Context, req *Request) *Recording
}

// The RecorderFunc type is an adapter to use functions as Recorders.
type RecorderFunc func(ctx context.Context, req *Request) *Recording

// Record calls f(ctx, req).
func (f RecorderFunc) Record(ctx context.Context, req *Request) *Recording { return f(ctx, req) }

// A Recording is a set of functions to call during one exchange. Any of them may be nil, as in
// net/http/httptrace. Functions must return quickly, must not retain the slices passed to them, and
// must not close the response. They may be called concurrently if the protocol uses several
// connections, as FTP does, but not during or after End.
//
// Sent and Received get the bytes of each connection in order: the plaintext of TLS connections,
// and otherwise the bytes on the connection. Secrets that a driver sends are replaced by asterisks.
// Input typed into a session is omitted. HTTP/2 and HTTP/3 messages appear as HTTP/1.1 would write
// them, without transfer coding. SFTP has only lines, because SSH encrypts the bytes its driver
// sends. If Received is set, the kernel cannot move bytes directly from a socket to a file.
type Recording struct {
	// Peer is called when a new or reused connection starts to serve the exchange, and again when
	// TLS starts on it. Connections are numbered from 1.
	Peer func(conn int, addr net.Addr, state *tls.ConnectionState)
	// Lookup is called with the addresses that the system's resolver returned for a host, in its
	// order, when a connection is made for the exchange. Their time to live is unknown.
	Lookup func(host string, addrs []netip.Addr)
	// Sent is called before the bytes are written.
	Sent func(conn int, p []byte)
	// Received is called with the bytes as they arrive, including content.
	Received func(conn int, p []byte)
	// Line is called with each command and reply, without its line ending and with secrets masked.
	// For protocols without lines, it gets a description of each message. It does not get content.
	Line func(sent bool, line string)
	// Request is called before each request of HTTP is sent: several times if a login takes several.
	Request func(*Variant)
	// Response is called once, when the server has accepted or redirected the request and before
	// Body is read. It must not read Body.
	Response func(*Response)
	// Content is called with the content as it is read, after decoding or after it was assembled
	// from messages of the protocol. For a session, it gets the output of the session.
	Content func(p []byte)
	// Entry is called with the entries of a listing as the caller ranges over them. If the caller
	// reads Body instead, Entry is not called; Parse of the response can then make the entries from
	// the content.
	Entry func(Entry)
	// Size is called once, before End, with the number of bytes of content read. Unlike Content, it
	// costs nothing.
	Size func(n int64)
	// End is called once, after all other functions, with nil if the exchange was completed.
	// Otherwise err is the reason, which is net.ErrClosed if Body was closed before its end.
	End func(err error)
}

// JoinRecorders returns a Recorder that calls all recorders of list.
func JoinRecorders(list ...Recorder) Recorder {
	return RecorderFunc(func(ctx context.Context, req *Request) *Recording {
		var all []*Recording
		for _, r := range list {
			if x := r.Record(ctx, req); x != nil {
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
	})
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
		joined.Request = both(joined.Request, x.Request)
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

// RecordLines returns a Recorder that passes the lines of all conversations to f. F must be safe
// for concurrent use.
func RecordLines(f func(sent bool, line string)) Recorder {
	exchange := &Recording{Line: f}
	return RecorderFunc(func(context.Context, *Request) *Recording { return exchange })
}

// RecordingOf returns the recording of the exchange of ctx, or nil if there is none. It is for drivers
// whose messages are not the bytes of a [Conn], such as those that multiplex or encrypt them. Its
// functions do nothing after the end of the exchange.
func RecordingOf(ctx context.Context) *Recording {
	if p := provenanceIn(ctx); p != nil && p.recording != nil {
		return &p.recording.Recording
	}
	return nil
}

// A recording calls the functions of a Recording until it ends. The methods that start with a lower-case
// letter may be called on a nil receiver, which records nothing.
type recording struct {
	Recording // its functions do nothing after the end

	calls sync.RWMutex // read-locked during calls, write-locked to end the recording
	ended bool

	mu    sync.Mutex
	conns []*Conn // in the order of their numbers
	first [1]*Conn

	read atomic.Int64 // bytes of content
}

func newRecording(x *Recording) *recording {
	r := &recording{}
	r.conns = r.first[:0]
	r.Recording = Recording{
		Lookup:   open2(r, x.Lookup),
		Sent:     open2(r, x.Sent),
		Received: open2(r, x.Received),
		Line:     open2(r, x.Line),
		Request:  open(r, x.Request),
		Response: open(r, x.Response),
		Content:  open(r, x.Content),
		Entry:    open(r, x.Entry),
		Size:     x.Size,
		End:      x.End,
	}
	if x.Peer != nil {
		r.Peer = func(conn int, addr net.Addr, state *tls.ConnectionState) {
			r.call(func() { x.Peer(conn, addr, state) })
		}
	}
	return r
}

func (r *recording) call(f func()) {
	r.calls.RLock()
	defer r.calls.RUnlock()
	if !r.ended {
		f()
	}
}

func open[A any](r *recording, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	return func(a A) { r.call(func() { f(a) }) }
}

func open2[A, B any](r *recording, f func(A, B)) func(A, B) {
	if f == nil {
		return nil
	}
	return func(a A, b B) { r.call(func() { f(a, b) }) }
}

// number returns the number of a connection in the recording, and whether it is new to it.
func (r *recording) number(conn *Conn) (n int, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.conns, conn); i >= 0 {
		return i + 1, false
	}
	r.conns = append(r.conns, conn)
	return len(r.conns), true
}

func (r *recording) response(resp *Response) {
	if r != nil && r.Response != nil {
		r.Response(resp)
	}
}

func (r *recording) content() func([]byte) {
	if r == nil {
		return nil
	}
	return r.Content
}

func (r *recording) entry() func(Entry) {
	if r == nil {
		return nil
	}
	return r.Entry
}

// end waits for calls under way and ends the recording. Later calls have no effect.
func (r *recording) end(err error) {
	if r == nil {
		return
	}
	r.calls.Lock()
	defer r.calls.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	if r.Size != nil {
		r.Size(r.read.Load())
	}
	if r.End != nil {
		r.End(err)
	}
}

func (r *recording) count(n int64) {
	if r != nil {
		r.read.Add(n)
	}
}
