package ftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A transferBody is the content of a transfer. It ends when the server says on the control
// connection that all was sent: the end of the data connection proves nothing. Close may be called
// while another goroutine reads.
type transferBody struct {
	ctx     context.Context
	session *session
	data    *driver.Conn // nil if there is none
	unbind  func() bool  // of data
	final   *wire.Reply  // if it has come already
	size    int64        // of what comes; -1 if unknown
	got     int64
	left    int64 // bytes still wanted, if limited
	limited bool
	// sizes, if not empty, are those of which one must come, where size is unknown.
	sizes []int64
	done  func(error) error // ends the use of the session

	mu  sync.Mutex
	err error // sticky; io.EOF after the end
}

func (b *transferBody) Read(p []byte) (int, error) {
	if err := b.state(); err != nil {
		return 0, err
	}
	if b.limited {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := 0, error(io.EOF)
	if b.data != nil {
		n, err = b.data.Read(p)
	}
	b.count(int64(n))
	if err != nil {
		b.end(err)
	} else if b.limited && b.left == 0 {
		b.enough()
	}
	return n, b.state()
}

// state returns why no more can be read, or nil.
func (b *transferBody) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// buffers are for copies that the kernel cannot make.
var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// spliceLeast is the smallest size for which it pays to let the kernel move the bytes.
const spliceLeast = 256 << 10

// WriteTo copies the rest to w. The connection lets the kernel move plaintext data to a file.
func (b *transferBody) WriteTo(w io.Writer) (int64, error) {
	if _, file := w.(io.ReaderFrom); !file || b.data == nil || b.data.TLS() != nil || b.limited || b.size >= 0 && b.size < spliceLeast || b.state() != nil {
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

// enough ends a body of which no more was asked for. The server would go on sending, so the
// connection cannot be used again.
func (b *transferBody) enough() { b.finish(io.EOF, errAborted) }

// errAborted ends the use of a session in the middle of a transfer.
var errAborted = errors.New("transfer aborted")

// end judges the end of the data connection.
func (b *transferBody) end(err error) {
	switch {
	case err == io.EOF:
		err = b.conclude()
		b.finish(err, err)
		return
	case b.ctx.Err() != nil:
	case errors.Is(err, io.ErrUnexpectedEOF):
		// TLS ended without its closing alert. If as many bytes came as announced, nothing else is
		// missing.
		if b.got == b.size {
			err = b.conclude()
			b.finish(err, err)
			return
		}
		err = truncated("the server closed the data connection in the middle of TLS", err)
	default:
		var timeout *wire.TimeoutError
		if !errors.As(err, &timeout) {
			err = truncated("the data connection was cut off", err)
		}
	}
	b.finish(err, errAborted)
}

// conclude reads the reply that ends the transfer, and returns io.EOF if that confirms it.
func (b *transferBody) conclude() error {
	if b.data != nil {
		b.data.Close()
	}
	if b.final == nil {
		r, err := b.session.control.reply()
		for i := 1; err == nil && r.Code/100 == 1 && i < maxPreliminary; i++ { // it has announced the data twice
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
		e.Hint = "the server wants TLS sessions resumed on data connections and did not see it done"
		return e
	default:
		_, retry := classify(r)
		return &driver.Error{Code: driver.ErrTruncated, Retry: retry, Reply: replyOf(r),
			Err: errors.New("the server broke off the transfer")}
	}
}

func truncated(what string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &driver.Error{Code: driver.ErrTruncated, Retry: true, Err: fmt.Errorf("%s: %w", what, err)}
}

// finish ends the body with err, and the use of the session with outcome. Only the first call
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
		case b.size >= 0 && b.got < b.size:
			b.err = truncated(fmt.Sprintf("%d bytes came, the server had said %d", b.got, b.size), io.ErrUnexpectedEOF)
		case b.size < 0 && len(b.sizes) > 0 && !slices.Contains(b.sizes, b.got):
			b.err = truncated(fmt.Sprintf("%d bytes came, the server had said %d", b.got, b.sizes[0]), io.ErrUnexpectedEOF)
		}
	}
	b.done(outcome)
}

// Close aborts what is unread, by closing both connections: no reply is waited for.
func (b *transferBody) Close() error {
	b.finish(net.ErrClosed, errAborted)
	return nil
}
