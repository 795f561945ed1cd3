package http3

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"github.com/urlget/urlget/fetch"
)

// A responseBody is the content of an answer: that of its DATA frames (RFC 9114, section 4.1).
type responseBody struct {
	*stream
	frame    uint64 // bytes that are left of the frame
	left     int64  // bytes that are left of what was announced; negative if nothing was
	trailers bool   // have come, so that no content follows
	err      error  // how it ended
	closed   atomic.Bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	switch {
	case b.closed.Load():
		return 0, errClosed
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	n, err := b.read(p)
	if err != nil {
		b.err = b.ended(err)
		b.end()
	}
	return n, b.err
}

func (b *responseBody) read(p []byte) (int, error) {
	for b.frame == 0 {
		if err := b.nextFrame(); err != nil {
			return 0, err
		}
	}
	n, err := b.frames.src.Read(p[:min(uint64(len(p)), b.frame)])
	b.frame -= uint64(n)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	if b.frame > 0 || err != io.EOF {
		return n, within(err)
	}
	return n, nil // the next read finds the end where it may be
}

// nextFrame reads up to the content of the next frame that has any.
func (b *responseBody) nextFrame() error {
	kind, length, err := b.next()
	switch {
	case err == io.EOF && b.left > 0:
		return fmt.Errorf("%d bytes are missing: %w", b.left, io.ErrUnexpectedEOF)
	case err != nil:
		return err
	case kind == frameData && b.trailers:
		return &malformedError{errFrameUnexpected, errors.New("content comes after the trailer")}
	case kind == frameData && b.left >= 0 && length > uint64(b.left):
		return malformed("there is more content than the server announced")
	case kind == frameData:
		b.frame = length
		return nil
	case kind == frameHeaders && b.trailers:
		return &malformedError{errFrameUnexpected, errors.New("there are two trailers")}
	case kind == frameHeaders && length > maxHead:
		return errTooLong
	case kind == frameHeaders:
		b.trailers = true // which nobody reads
	}
	return b.frames.skip(length)
}

// ended says what an error of the content means.
func (b *responseBody) ended(err error) error {
	b.mu.Lock()
	cause := b.cause
	b.mu.Unlock()
	var wrong *malformedError
	switch {
	case err == io.EOF:
		return err
	case cause != nil:
		return cause
	case b.closed.Load():
		return errClosed
	case errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &wrong):
		b.quic.CancelRead(quic.StreamErrorCode(wrong.code))
		return &fetch.Error{Code: fetch.ErrProtocol, Retry: true, Err: err}
	case isSilence(err):
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: ending(err)}
}

// Close gives up what has not been read, without waiting for the server. It ends a Read that waits.
func (b *responseBody) Close() error {
	b.closed.Store(true)
	b.end()
	return nil
}

var errClosed = errors.New("http3: read of a closed body")
