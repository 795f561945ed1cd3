package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pace"
)

// guard wraps the driver's body in the checks of the client, and sets Entries, which reads the same
// guarded body.
func (c *Client) guard(ctx context.Context, resp *Response, p *preparedRequest, rec *recording) {
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok && resp.Kind == KindSession {
		resp.Body = newSession(rw, rec) // a session has no end that could be checked
		return
	}
	b := &guardedBody{ctx: ctx, inner: resp.Body, url: resp.URL, declared: resp.Size, rec: rec,
		content: rec.content(), req: p.req, prov: p.prov}
	if conn := p.prov.conn.Load(); resp.Framing == FramedByClose && conn != nil && conn.announcesEnd() {
		b.conn = conn
		if !p.prov.proxy.forward { // a forward proxy may conceal a truncation
			resp.Framing = FramedByProtocol
		}
	}
	if p.req.Op == OpStat {
		b.declared = -1
	}
	b.max = b.declared
	b.restrict(c.policy.MaxSize)
	resp.Body = b
	if p.req.Op != OpStat {
		b.expect(resp)
	}
	resp.Entries = nil
	if resp.Parse != nil {
		var slow *pace.Pace
		if resp.Kind == KindListing && !p.scheme.Local {
			slow = &pace.Pace{Idle: c.timeouts.Idle}
		}
		resp.Entries = b.entries(resp.Parse, slow)
	}
	b.local = p.scheme.Local
	resp.ModTime = b.time(resp.ModTime)
}

// A guardedBody is the body that callers read. It counts bytes and enforces sizes. It returns
// failures as an *Error, and returns the same error from then on.
type guardedBody struct {
	ctx      context.Context
	inner    io.ReadCloser
	url      uri.URI
	declared int64 // size declared by the server; -1 if unknown
	limit    int64 // 0 for none
	max      int64 // the smaller of declared and limit; -1 if there is none
	got      int64
	err      error // sticky; io.EOF after the end
	closed   atomic.Bool
	conn     *Conn     // TLS connection whose end is the end of the body; usually nil
	tee      io.Writer // receives a copy of the bytes read; usually nil
	content  func([]byte)
	digests  *DigestVerifier // of the body; usually nil
	rec      *recording
	req      *Request
	prov     *provenance
	listing  bool // the caller ranges over entries instead of reading
	// pace limits the wait for entries. Bytes that do not complete an entry do not count.
	pace  *pace.Pace
	local bool // the driver reads from this machine
	out   splicingSink
}

// time returns t, or the zero time if a remote server reports an implausible one.
func (b *guardedBody) time(t time.Time) time.Time {
	if b.local || PlausibleTime(t) {
		return t
	}
	return time.Time{}
}

// restrict limits the body to limit bytes, unless it has a lower limit already. 0 means no limit.
func (b *guardedBody) restrict(limit int64) {
	if limit <= 0 || b.limit > 0 && b.limit <= limit {
		return
	}
	b.limit = limit
	switch {
	case b.declared > limit:
		b.fail(b.finish(b.tooLarge()))
	case b.max < 0 || limit < b.max:
		b.max = limit
	}
}

func (b *guardedBody) expect(resp *Response) {
	if len(resp.Digests) == 0 {
		return
	}
	if err := ContradictingDigests(resp.Digests); err != nil {
		b.fail(b.finish(err))
		return
	}
	covers := []Coverage{CoversBody}
	if resp.Range.IsZero() {
		covers = append(covers, CoversResource)
	}
	b.digests = VerifyDigests(DigestsOf(resp.Digests, covers...))
}

// verify digests p, the next bytes. At the end of the body, which is io.EOF or the declared size, it
// compares the digests and returns an error if they differ.
func (b *guardedBody) verify(p []byte, err error) error {
	b.digests.Write(p)
	if err == io.EOF && (b.declared < 0 || b.got == b.declared) || err == nil && b.got == b.declared {
		wrong := b.digests.Verify()
		b.digests = nil
		return wrong
	}
	return nil
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.max >= 0 && int64(len(p))-1 > b.max-b.got {
		p = p[:b.max-b.got+1] // one more byte detects excess; the largest int64 has no next
	}
	var begun time.Time
	if b.pace != nil {
		begun = time.Now()
	}
	n, err := b.inner.Read(p)
	b.got += int64(n)
	if b.pace != nil {
		if b.pace.Add(n, time.Since(begun)); err == nil {
			err = b.pace.Late()
		}
	}
	if b.max >= 0 && b.got > b.max {
		n -= int(b.got - b.max)
		err = b.tooMuch()
	}
	withheld := false // the last bytes of a wrong body, in case the caller does not read to io.EOF
	if b.digests != nil {
		if wrong := b.verify(p[:n], err); wrong != nil {
			withheld, err = true, wrong
		}
	}
	if n > 0 {
		b.rec.count(int64(n))
		if b.content != nil {
			b.content(p[:n])
		}
		if withheld {
			n = 0
		}
		if b.tee != nil {
			if _, werr := b.tee.Write(p[:n]); werr != nil {
				b.err = werr // the writer's error, not the transfer's
				return n, b.err
			}
		}
	}
	if err != nil {
		b.fail(b.finish(err))
	}
	return n, b.err
}

func (b *guardedBody) fail(err error) {
	b.err = err
	if !b.listing {
		b.record()
	}
}

func (b *guardedBody) record() {
	switch b.err {
	case nil:
	case io.EOF:
		b.rec.end(nil)
	default:
		b.rec.end(b.err)
	}
}

const smallCopy, largeCopy = 8 << 10, 128 << 10

var (
	smallCopies = sync.Pool{New: func() any { return new([smallCopy]byte) }}
	largeCopies = sync.Pool{New: func() any { return new([largeCopy]byte) }}
)

// WriteTo implements io.WriterTo with the WriteTo of the driver's body, which may let the kernel
// move the bytes.
func (b *guardedBody) WriteTo(w io.Writer) (int64, error) {
	switch {
	case b.err == io.EOF:
		return 0, nil
	case b.err != nil:
		return 0, b.err
	}
	inner, ok := b.inner.(io.WriterTo)
	if !ok || b.tee != nil || b.content != nil || b.digests != nil {
		if b.max >= 0 && b.max-b.got < smallCopy { // most bodies, and the next byte is their end
			buf := smallCopies.Get().(*[smallCopy]byte)
			defer smallCopies.Put(buf)
			return b.copyTo(w, buf[:])
		}
		buf := largeCopies.Get().(*[largeCopy]byte)
		defer largeCopies.Put(buf)
		return b.copyTo(w, buf[:])
	}
	b.out = splicingSink{sink: sink{w: w, body: b, start: b.got}}
	sink := &b.out.sink
	n, err := inner.WriteTo(b.out.writer())
	b.got = sink.start + n
	b.rec.count(n)
	switch {
	case sink.surplus:
		err = b.tooMuch()
	case sink.err != nil:
		b.err = sink.err // the writer's error, not the transfer's
		return n, sink.err
	case err == nil:
		err = io.EOF
	}
	if b.fail(b.finish(err)); b.err == io.EOF {
		return n, nil
	}
	return n, b.err
}

// copyTo is io.CopyBuffer without the methods WriteTo and ReadFrom.
func (b *guardedBody) copyTo(w io.Writer, buf []byte) (written int64, err error) {
	for {
		n, err := b.Read(buf)
		if n > 0 {
			m, writeErr := w.Write(buf[:n])
			written += int64(m)
			if writeErr == nil && m < n {
				writeErr = io.ErrShortWrite
			}
			if writeErr != nil {
				return written, writeErr
			}
		}
		if err == io.EOF {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

func (b *guardedBody) tooMuch() error {
	if b.limit > 0 && b.max == b.limit {
		return b.tooLarge()
	}
	return &Error{Code: ErrProtocol, Retry: true,
		Err: fmt.Errorf("received more than the announced %d bytes", b.declared)}
}

func (b *guardedBody) tooLarge() error {
	return ErrTooLarge.Errorf("more than %d bytes", b.limit)
}

// finish returns the final error of the body: io.EOF, or the reason why it is incomplete.
func (b *guardedBody) finish(err error) error {
	if b.closed.Load() { // an error of the peer after Close does not matter
		err = &Error{Code: ErrInterrupted, Err: net.ErrClosed}
	}
	if err == io.EOF {
		switch {
		case b.declared < 0 && b.conn != nil:
			if err = b.conn.CutOff(); err == nil {
				return io.EOF
			}
		case b.declared < 0, b.got == b.declared:
			return io.EOF
		default:
			err = &Error{Code: ErrTruncated, Retry: true,
				Err: fmt.Errorf("received %d of %d bytes", b.got, b.declared)}
		}
	}
	e := asError("read", b.url, contextError(b.ctx, b.prov.maskError(b.req, err)))
	if e.Code == ErrTLS {
		// TLS authenticated the data so far and not this record. A transmission error may not
		// recur.
		e.Retry = true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && (e.Code == ErrNetwork || e.Code == "") {
		e.Code, e.Retry = ErrTruncated, true
		if e.Err == io.ErrUnexpectedEOF {
			e.Err = fmt.Errorf("the connection ended after %s: %w", b.progress(), err)
		}
	}
	return e
}

func (b *guardedBody) progress() string {
	if b.declared < 0 {
		return fmt.Sprintf("%d bytes", b.got)
	}
	return fmt.Sprintf("%d of %d bytes", b.got, b.declared)
}

func (b *guardedBody) Close() error {
	if !b.closed.Swap(true) {
		b.rec.end(net.ErrClosed) // no effect if the end has been reached
	}
	return b.inner.Close()
}

// entries returns the entries that parse finds in the body. If slow is not nil, it limits the wait
// for each entry.
func (b *guardedBody) entries(parse func(io.Reader) iter.Seq2[Entry, error],
	slow *pace.Pace) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		b.listing, b.pace = true, slow
		if slow != nil {
			slow.Begin()
		}
		defer func() {
			b.listing, b.pace = false, nil
			b.record()
		}()
		note := b.rec.entry()
		for e, err := range parse(struct{ io.Reader }{b}) {
			if err != nil {
				yield(Entry{}, b.finish(err))
				return
			}
			e.ModTime = b.time(e.ModTime)
			if note != nil {
				note(e)
			}
			if !yield(e, nil) {
				return
			}
			if slow != nil {
				slow.Begin()
			}
		}
	}
}

// A sink is the destination of a driver's WriteTo. It distinguishes errors of the destination from
// those of the source, and enforces the size of the body.
type sink struct {
	w       io.Writer
	body    *guardedBody
	start   int64 // bytes read from the body before WriteTo
	got     int64
	err     error
	surplus bool
}

var errSurplus = errors.New("more bytes than allowed")

// Room returns how many bytes may still be written.
func (s *sink) Room() int64 {
	if s.body.max < 0 {
		return 1<<63 - 1
	}
	return s.body.max - s.start - s.got
}

func (s *sink) Write(p []byte) (int, error) {
	all := len(p)
	if room := s.Room(); int64(all) > room {
		p = p[:room]
	}
	n, err := s.w.Write(p)
	s.got += int64(n)
	switch {
	case err != nil:
		s.err = err
	case len(p) < all:
		s.surplus, err = true, errSurplus
	}
	return n, err
}

// writer returns s, only with a ReadFrom method if the destination has one. *os.File has one that can
// splice.
func (s *splicingSink) writer() io.Writer {
	var ok bool
	if s.rf, ok = s.w.(io.ReaderFrom); ok {
		return s
	}
	return &s.sink
}

type splicingSink struct {
	sink
	rf io.ReaderFrom
}

// ReadFrom cannot determine which side an error came from. An error of the destination is a
// *fs.PathError or is returned by Write; others are returned unchanged.
func (s *splicingSink) ReadFrom(r io.Reader) (int64, error) {
	room := s.Room()
	if lr, ok := r.(*io.LimitedReader); room < 1<<62 && (!ok || lr.N > room) {
		return io.Copy(struct{ io.Writer }{&s.sink}, struct{ io.Reader }{r})
	}
	n, err := s.rf.ReadFrom(r)
	s.got += n
	return n, err
}

func newSession(rw io.ReadWriteCloser, rec *recording) io.ReadWriteCloser {
	if rec == nil {
		return rw
	}
	if content := rec.content(); content != nil {
		shown := &recordedSession{rw, content}
		switch t := rw.(type) {
		case Terminal:
			rw = struct {
				*recordedSession
				Terminal
			}{shown, t}
		case Messenger:
			rw = struct {
				*recordedSession
				recordedMessages
			}{shown, recordedMessages{t, content}}
		default:
			rw = shown
		}
	}
	return OnClose(rw, func() { rec.end(nil) }).(io.ReadWriteCloser)
}

type recordedSession struct {
	io.ReadWriteCloser
	content func([]byte)
}

func (s *recordedSession) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if n > 0 {
		s.content(p[:n])
	}
	return n, err
}

type recordedMessages struct {
	Messenger
	content func([]byte)
}

func (s recordedMessages) Receive() (Message, error) {
	m, err := s.Messenger.Receive()
	if len(m.Data) > 0 {
		s.content(m.Data)
	}
	return m, err
}
