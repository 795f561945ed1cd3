package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// A Resource gives random access to the content of a URL. It implements io.Reader, io.ReaderAt,
// io.Seeker, io.WriterTo and io.Closer.
//
// All data read belongs to one version of the resource, that of the first response. Its validator
// is sent with all later requests. Once the resource has changed, all reads fail with ErrChanged.
//
// Reading sequentially from start to end takes a single exchange. Other reads request ranges, which
// grow while reads are sequential. Up to 2 MiB of data is cached, so that small reads close to each
// other share an exchange.
//
// If the server does not support ranges, a forward seek reads and discards data, and a backward
// seek requests the resource again. Without a validator, neither is safe. Then only the data ahead
// can be read, and the first 64 KiB again once they have been read. Other reads fail with an error
// that matches errors.ErrUnsupported.
//
// A read that fails for a temporary reason, such as a lost connection, is retried up to four times
// from where it stopped.
//
// ReadAt may be called concurrently, even while another goroutine uses the other methods.
type Resource struct {
	client  *Client
	req     Request // Range and IfChanged are zero
	ctx     context.Context
	cancel  context.CancelCauseFunc
	first   *Response // its Body belongs to a cursor
	version Version

	mu       sync.Mutex // guards the fields below
	size     int64      // -1 until it is known
	changed  error      // set when the resource is found to be a different version
	noRanges bool       // only the whole resource can be requested
	idle     *cursor    // a response that runs to the end; nil if there is none
	opening  int        // number of responses being waited for
	windows  []window   // the most recent ones
	blocks   blocks
	head     []byte // the first bytes, as far as Read has read them
	closed   bool

	// These fields belong to the goroutine that reads sequentially.
	pos int64
	run int64 // bytes read since the last Seek to a different position
}

const (
	// maxHead limits how much of the beginning is cached for callers that inspect it before they
	// read, in bytes.
	maxHead = 64 << 10
	// maxSkip limits how many bytes are read and discarded instead of making a new request.
	maxSkip = 256 << 10
	// longRun is the number of bytes that must be read sequentially before the whole rest is
	// requested.
	longRun = 2 * blockSize
)

// Open opens the resource at req.URL for random access. It ignores Op, Ranges and IfChanged of req.
// A Range from offset 0 limits the first response, for callers that will not read everything; other
// ranges are ignored. A method other than GET and a body are errors. The context governs all reads
// until Close. If err is nil, the caller must close the Resource.
func (c *Client) Open(ctx context.Context, req *Request) (*Resource, error) {
	if req.Sends() {
		closeBody(req)
		return nil, asError(OpGet.String(), req.URL,
			ErrRequest.Errorf("random access requires a GET request without a body"))
	}
	r := &Resource{client: c, req: *req}
	r.req.Op, r.req.Range, r.req.Ranges, r.req.IfChanged = OpGet, Range{}, nil, Validator{}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	first := r.req
	if req.Range.Offset == 0 {
		first.Range = req.Range
	}
	resp, err := c.Do(r.ctx, &first)
	if !first.Range.IsZero() && CodeOf(err) == ErrRange { // empty resources have no ranges
		first.Range = Range{}
		resp, err = c.Do(r.ctx, &first)
	}
	if err != nil {
		r.cancel(nil)
		return nil, err
	}
	r.first, r.version = resp, VersionOf(&resp.Meta)
	r.size = r.version.Size
	// larger than the policy allows
	if b, ok := resp.Body.(*guardedBody); ok && b.err != nil && b.err != io.EOF {
		r.Close()
		resp.Body.Close()
		return nil, b.err
	}
	if r.idle, err = r.cursorAt(resp, first.Range); err != nil {
		r.Close()
		resp.Body.Close()
		return nil, asError("read", resp.URL, err)
	}
	resp.Size, resp.Range, resp.Total = r.size, Range{}, 0
	scheme, _ := c.registry.Lookup(resp.URL.Scheme())
	r.noRanges = r.noRanges || !scheme.Ranges || r.version.Guard().IsZero()
	return r, nil
}

// Ranges reports whether parts of the content can be requested, as far as is known. It is known
// after the first request for a range.
func (r *Resource) Ranges() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.noRanges
}

// URL returns the URL of the content, after redirects.
func (r *Resource) URL() uri.URI { return r.first.URL }

// Meta returns the metadata of the first response.
func (r *Resource) Meta() *Meta { return &r.first.Meta }

// Size returns the size of the content in bytes, or -1 if it is unknown. An unknown size may become
// known when the end has been read.
func (r *Resource) Size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// Measure returns the size of the content. If the size is unknown, Measure reads to the end and
// caches the data, so that it need not be requested again. If the content is longer than limit
// bytes, the error is ErrTooLarge. Measure does not change the position. It must not be called
// concurrently with Read or Seek.
func (r *Resource) Measure(limit int64) (int64, error) {
	if size := r.Size(); size >= 0 {
		return size, nil
	}
	pos, run := r.pos, r.run
	defer func() { r.pos, r.run = pos, run }()
	r.pos, r.run = int64(len(r.headFrom(0))), longRun
	buf := make([]byte, 32<<10)
	for {
		n, err := r.read(buf)
		r.extendHead(buf[:n])
		r.pos += int64(n)
		switch {
		case err == io.EOF:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.size = r.pos
			return r.size, nil
		case err != nil:
			return -1, r.fail("read", err)
		case r.pos > limit:
			return -1, r.fail("read",
				ErrTooLarge.Errorf("the size is unknown, and more than %d bytes", limit))
		}
	}
}

// Close ends all reads. It does not wait for them or for the server.
func (r *Resource) Close() error {
	r.mu.Lock()
	r.closed = true
	r.closeIdle() // before the context ends, so that a driver can keep the connection
	r.blocks, r.head = nil, nil
	r.mu.Unlock()
	r.cancel(fs.ErrClosed)
	return nil
}

// Seek implements io.Seeker. It does no I/O. To seek relative to the end, the size must be known.
func (r *Resource) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		size := r.Size()
		if size < 0 {
			return 0, r.fail("seek", ErrNotRetrievable.Errorf(
				"cannot seek relative to the end: the size is unknown: %w", errors.ErrUnsupported))
		}
		offset += size
	default:
		return 0, r.fail("seek", fmt.Errorf("whence %d: %w", whence, fs.ErrInvalid))
	}
	if offset < 0 {
		return 0, r.fail("seek", fmt.Errorf("offset %d: %w", offset, fs.ErrInvalid))
	}
	if offset != r.pos {
		r.pos, r.run = offset, 0
	}
	return offset, nil
}

// Read implements io.Reader.
func (r *Resource) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := r.read(p)
	r.advance(int64(n))
	return n, r.fail("read", err)
}

func (r *Resource) advance(n int64) {
	r.pos += n
	r.run += n
}

func (r *Resource) fail(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return asError(op, r.first.URL, contextError(r.ctx, err))
}

func (r *Resource) read(p []byte) (int, error) {
	if err := r.checkUsable(); err != nil {
		return 0, err
	}
	if n := copy(p, r.headFrom(r.pos)); n > 0 {
		return n, nil
	}
	tries := r.newTries()
	for {
		c := r.takeIdle(r.pos, 0)
		if c == nil && (r.run < longRun || r.hasBlock(r.pos)) {
			return r.readBlock(p, r.pos)
		}
		n, err := r.readStream(c, p)
		if n > 0 || err == io.EOF {
			return n, err
		}
		if err != nil {
			if err := tries.wait(err); err != nil {
				return 0, err
			}
		}
	}
}

func (r *Resource) headFrom(offset int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head[min(offset, int64(len(r.head))):]
}

// extendHead appends p, the bytes at the current position, to the cached head if they follow it.
func (r *Resource) extendHead(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pos == int64(len(r.head)) {
		r.head = append(r.head, p...)
	}
}

// readStream reads from a response that runs to the end of the content. C is such a response at the
// current position, or nil. If n > 0, the error is nil if another response may supply the rest.
func (r *Resource) readStream(c *cursor, p []byte) (int, error) {
	c, err := r.stream(c)
	if err != nil {
		return 0, err
	}
	n, err := c.read(p)
	if r.pos+int64(n) <= maxHead {
		r.extendHead(p[:n])
	}
	if err == nil {
		r.storeIdle(c)
		return n, nil
	}
	if err = r.closeCursor(c, err); n > 0 && r.canRetry(err) {
		err = nil
	}
	return n, err
}

// stream returns a response at the current position: c if it is not nil. The error is io.EOF at the
// end of the content.
func (r *Resource) stream(c *cursor) (_ *cursor, err error) {
	if c == nil {
		c = r.takeIdle(r.pos, maxSkip)
	}
	if c == nil {
		if size := r.Size(); size >= 0 && r.pos >= size {
			return nil, io.EOF
		}
		if c, err = r.request(r.pos, 0); err != nil {
			return nil, err
		}
	}
	if err := c.skipTo(r.pos); err != nil {
		return nil, r.closeCursor(c, err)
	}
	return c, nil
}

// WriteTo implements io.WriterTo. It may let the kernel move the bytes. Errors of w are returned
// unchanged.
func (r *Resource) WriteTo(w io.Writer) (written int64, err error) {
	tries := r.newTries()
	for {
		if err := r.checkUsable(); err != nil {
			return written, r.fail("read", err)
		}
		n, err := r.writeOnce(w)
		written += n
		r.advance(n)
		if n > 0 {
			tries = r.newTries()
		}
		switch e, isFetchError := err.(*Error); {
		case err == io.EOF:
			return written, nil
		case err == nil:
		case !isFetchError:
			return written, err
		default:
			if err := tries.wait(e); err != nil {
				return written, r.fail("read", err)
			}
		}
	}
}

// writeOnce writes the next piece of the content: the cached head, or the rest as far as one
// response has it. The error is io.EOF after the last piece, and an *Error unless it came from w.
func (r *Resource) writeOnce(w io.Writer) (int64, error) {
	if head := r.headFrom(r.pos); len(head) > 0 {
		n, err := w.Write(head)
		return int64(n), err
	}
	c, err := r.stream(nil)
	if err == io.EOF {
		return 0, err
	}
	if err != nil {
		return 0, asError("read", r.first.URL, err)
	}
	n, err := io.Copy(w, c.body)
	c.off += n
	if err == nil {
		err = io.EOF
	}
	return n, r.closeCursor(c, err)
}

func (r *Resource) checkUsable() error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

type tries struct {
	resource *Resource
	failed   int
}

func (r *Resource) newTries() *tries { return &tries{resource: r} }

// resourceRetry is the retry policy of reads. The first attempt after a failure is made immediately
// and does not count, because a new connection may suffice.
var resourceRetry = retry.Policy{Tries: 4, Wait: 250 * time.Millisecond, MaxWait: 2 * time.Second,
	Jitter:        retry.NoJitter,
	MaxRetryAfter: 30 * time.Second, Transient: Transient}

func (r *Resource) canRetry(err error) bool {
	_, ok := resourceRetry.Next(0, err)
	return ok && !r.version.Guard().IsZero() && r.ctx.Err() == nil
}

// wait waits until the next attempt after err is due, or returns the final error.
func (t *tries) wait(err error) error {
	pause, again := resourceRetry.Next(t.failed, err)
	t.failed++
	if !again || !t.resource.canRetry(err) {
		return err
	}
	if pause == 0 {
		return nil
	}
	return retry.Sleep(t.resource.ctx, pause)
}

var (
	_ io.ReadSeekCloser = (*Resource)(nil)
	_ io.ReaderAt       = (*Resource)(nil)
	_ io.WriterTo       = (*Resource)(nil)
)
