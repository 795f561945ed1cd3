package ftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A transferBody is the body of a transfer. It ends with the final reply on the control connection,
// because the end of the data connection proves nothing. Close may be called while another
// goroutine reads.
type transferBody struct {
	ctx     context.Context
	session *session
	data    *fetch.Conn // nil if there is none
	unbind  func() bool // of data
	final   *wire.Reply // if already received
	size    int64       // of the body; -1 if unknown
	got     int64
	left    int64 // bytes to read, if limited
	limited bool
	// sizes lists the possible sizes if size is unknown. If not empty, the body must have one of
	// them.
	sizes []int64
	// restarted is set after REST. If the size is known, the last byte is then withheld until the end
	// of the data proves that the server began at the offset.
	restarted bool
	// listing is set if the data are a listing. If they end without the close_notify of TLS, cut is set
	// and warn is called.
	listing bool
	cut     atomic.Bool
	warn    func()
	done    func(error) error // releases the session

	mu      sync.Mutex
	err     error // sticky; io.EOF after the end
	claimed bool  // see claim
}

func (b *transferBody) Read(p []byte) (int, error) {
	if err := b.state(); err != nil {
		return 0, err
	}
	switch {
	case b.limited:
		p = p[:min(int64(len(p)), b.left)]
	case b.restarted && b.size >= 0 && b.size-b.got > 1:
		p = p[:min(int64(len(p)), b.size-b.got-1)]
	case b.restarted && b.size >= 0 && len(p) > 0:
		return b.readLast(p)
	}
	n, err := b.readData(p)
	b.count(int64(n))
	if err != nil {
		b.end(err)
	} else if b.limited && b.left == 0 {
		b.finish(io.EOF, b.abort())
	}
	return n, b.state()
}

func (b *transferBody) readData(p []byte) (int, error) {
	if b.data == nil {
		return 0, io.EOF
	}
	return b.data.Read(p)
}

func (b *transferBody) readLast(p []byte) (int, error) {
	var last [2]byte
	missing := int(b.size - b.got)
	n, err := 0, error(nil)
	for n <= missing && err == nil {
		var k int
		k, err = b.readData(last[n : missing+1])
		n += k
	}
	b.count(int64(n))
	if n > missing {
		b.finish(b.notRestarted(), errAborted)
		return 0, b.state()
	}
	if b.end(err); b.state() != io.EOF {
		return 0, b.state()
	}
	return copy(p, last[:n]), io.EOF
}

// notRestarted returns the error for a number of bytes that shows that the body does not begin at the
// offset.
func (b *transferBody) notRestarted() error {
	return fetch.ErrRange.Errorf("%w: it did not send the %d bytes after the offset", errRestartIgnored,
		b.size)
}

func (b *transferBody) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// spliceLeast is the smallest size that is spliced, in bytes.
const spliceLeast = 256 << 10

// WriteTo implements io.WriterTo. The connection splices plaintext data to a file.
func (b *transferBody) WriteTo(w io.Writer) (int64, error) {
	_, file := w.(io.ReaderFrom)
	small := b.size >= 0 && b.size < spliceLeast
	if !file || b.data == nil || b.data.TLS() != nil || b.limited || b.restarted || small ||
		b.state() != nil {
		buf := buffers.Get().(*[256 << 10]byte)
		defer buffers.Put(buf)
		return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf[:])
	}
	n, err := b.data.WriteTo(w)
	b.count(n)
	if err == nil {
		err = io.EOF
	}
	b.end(err)
	if err = b.state(); err == io.EOF {
		err = nil
	}
	return n, err
}

func (b *transferBody) count(n int64) {
	b.got += n
	b.left -= n
}

// abort closes the data connection of a transfer that is not complete and sends ABOR. It does not
// wait for the replies: session.settle reads them before the next use of the session. It returns
// errAborted if the session cannot be used again.
func (b *transferBody) abort() error {
	if b.ctx.Err() != nil || !b.claim() {
		return errAborted
	}
	if b.data != nil {
		b.data.Close()
	}
	if b.final != nil { // the server has no more to say
		return nil
	}
	if !b.session.control.sendAbort() {
		return errAborted
	}
	b.session.unsettled.Store(true)
	return nil
}

// claim reports whether the caller may use the control connection to end the transfer. Only the first
// one may, because Close may be called while another goroutine reads.
func (b *transferBody) claim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.claimed {
		return false
	}
	b.claimed = true
	return true
}

var errAborted = errors.New("transfer aborted")

func (b *transferBody) end(err error) {
	switch {
	case err == io.EOF && (b.data == nil || b.data.CutOff() == nil || b.size >= 0 || len(b.sizes) > 0):
		b.concluded()
		return
	case err == io.EOF && b.listing:
		// Some servers never send close_notify, so the listing is shown.
		b.cut.Store(true)
		b.warn()
		b.concluded()
		return
	case err == io.EOF:
		err = truncated("the server closed the data connection without the TLS close_notify", err)
	case b.ctx.Err() != nil:
	case errors.Is(err, io.ErrUnexpectedEOF):
		// TLS ended without a close_notify alert. The body is complete if its size is the announced
		// one.
		if b.got == b.size {
			b.concluded()
			return
		}
		err = truncated("the server closed the data connection without ending TLS", err)
	default:
		var timeout *wire.TimeoutError
		if !errors.As(err, &timeout) {
			err = truncated("the data connection was interrupted", err)
		}
	}
	b.finish(err, errAborted)
}

func (b *transferBody) concluded() {
	outcome := b.conclude()
	err := outcome
	if err == io.EOF && b.listing && contains(strings.ToLower(b.final.Text()), unread) {
		err = &fetch.Error{Code: fetch.ErrRefused, Reply: replyOf(*b.final),
			Err: errors.New("the directory was not read")}
	}
	b.finish(err, outcome)
}

// conclude reads the final reply of the transfer. It returns io.EOF if the reply confirms the
// transfer.
func (b *transferBody) conclude() error {
	if !b.claim() {
		return net.ErrClosed
	}
	if b.data != nil {
		b.data.Close()
	}
	if b.final == nil {
		r, err := b.session.control.reply()
		for i := 1; err == nil && r.Code/100 == 1 && i < maxPreliminary; i++ { // another preliminary reply
			r, err = b.session.control.reply()
		}
		if err != nil {
			if b.ctx.Err() != nil {
				return err
			}
			return truncated("the server did not confirm the end of the transfer", err)
		}
		b.final = &r
	}
	switch r := *b.final; {
	case r.Code == 226 || r.Code == 250:
		return io.EOF
	case r.Code == 522:
		e := refusal("the data connection", r)
		e.Hint = "the server requires TLS session resumption on data connections"
		return e
	default:
		_, retry := classify(r)
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: retry, Reply: replyOf(r),
			Err: errors.New("the server aborted the transfer")}
	}
}

func truncated(what string, err error) error {
	return fetch.ErrTruncated.Retryf("%s: %w", what, wire.Unexpected(err))
}

// finish ends the body with err and the use of the session with outcome. Only the first call
// counts.
func (b *transferBody) finish(err, outcome error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.err = err
	if b.data != nil {
		b.unbind()
		b.data.Close()
	}
	if outcome == io.EOF {
		outcome = nil
		switch {
		case b.restarted && !b.limited && b.size >= 0 && b.got < b.size:
			b.err = b.notRestarted()
		case b.size >= 0 && b.got < b.size:
			b.err = truncated(fmt.Sprintf("received %d of %d bytes", b.got, b.size), io.ErrUnexpectedEOF)
		case b.size < 0 && len(b.sizes) > 0 && !slices.Contains(b.sizes, b.got):
			b.err = truncated(fmt.Sprintf("received %d of %d bytes", b.got, b.sizes[0]), io.ErrUnexpectedEOF)
		}
	}
	b.done(outcome)
}

// Close aborts the transfer. It does not wait for a reply.
func (b *transferBody) Close() error {
	b.finish(net.ErrClosed, b.abort())
	return nil
}
