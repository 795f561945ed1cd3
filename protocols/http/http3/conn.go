package http3

import (
	"bufio"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/urlget/urlget/fetch"
)

// Error codes (RFC 9114, section 8.1).
const (
	errNone             = 0x100
	errStreamCreation   = 0x103
	errClosedCritical   = 0x104
	errFrameUnexpected  = 0x105
	errFrame            = 0x106
	errExcessiveLoad    = 0x107
	errID               = 0x108
	errMissingSettings  = 0x10a
	errRequestRejected  = 0x10b
	errRequestCancelled = 0x10c
	errMessage          = 0x10e
	errVersionFallback  = 0x110
	errDecompression    = 0x200
)

// Types of streams in one direction (RFC 9114, section 6.2; RFC 9204, section 4.2).
const (
	streamControl = 0x0
	streamPush    = 0x1
	streamEncoder = 0x2
	streamDecoder = 0x3
)

// settingMaxFields tells the largest head that is accepted, in bytes (RFC 9114, section 7.2.4.1).
const settingMaxFields = 0x6

// maxSettings bounds the frame of the server's settings, in bytes.
const maxSettings = 16 << 10

// A conn is a connection to a server of HTTP/3.
type conn struct {
	quic      *quic.Conn
	transport *quic.Transport
	socket    *fetch.Conn
	key       connKey
	opened    [4]atomic.Bool
	closing   sync.Once

	mu      sync.Mutex
	waiting map[*stream]struct{} // for the heads of their answers
	limit   uint64               // streams from this number on are not served; see goAway

	// For the pool, which locks them.
	users   int
	timer   *time.Timer // closes it when it is idle
	retired bool
}

// begin opens the control stream. The compression of fields gets no table that changes, so that no
// request waits for the packets of another.
func (c *conn) begin() error {
	control, err := c.quic.OpenUniStream()
	if err != nil {
		return err
	}
	settings := quicvarint.Append(quicvarint.Append(nil, settingMaxFields), maxHead)
	if _, err := control.Write(appendFrame([]byte{streamControl}, frameSettings, settings)); err != nil {
		return err
	}
	go c.accept()
	return nil
}

// unusable reports whether the connection takes no more requests.
func (c *conn) unusable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit < noLimit || c.quic.Context().Err() != nil
}

// noLimit is more than any number of a stream.
const noLimit = 1 << 62

// goAway notes that the server takes no more requests, and serves none of those whose streams have this
// number or a higher one (RFC 9114, section 5.2), so that these end. It reports false if the server
// said another thing before, or the number is not one of a request.
func (c *conn) goAway(from uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from%4 != 0 || from > c.limit {
		return false
	}
	c.limit = from
	for s := range c.waiting {
		if s.number() >= from {
			delete(c.waiting, s)
			go s.cancel(errUnseen)
		}
	}
	return true
}

// await adds a stream to those that wait for an answer, and reports whether the server serves it.
func (c *conn) await(s *stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.number() >= c.limit {
		return false
	}
	c.waiting[s] = struct{}{}
	return true
}

// answered ends what await began.
func (c *conn) answered(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, s)
}

// close closes the connection, without waiting for the server.
func (c *conn) close(code quic.ApplicationErrorCode) {
	c.closing.Do(func() {
		c.quic.CloseWithError(code, "")
		c.transport.Close()
		c.socket.Close()
	})
}

// accept reads the streams that the server opens. They end with the connection.
func (c *conn) accept() {
	for {
		s, err := c.quic.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		go c.serve(s)
	}
}

// serve reads a stream of the server's. There may be one of each known type, and those must not end.
func (c *conn) serve(s *quic.ReceiveStream) {
	src := bufio.NewReaderSize(s, 512)
	kind, err := quicvarint.Read(src)
	switch {
	case err != nil:
		return
	case kind == streamPush:
		c.fail(errID) // none was allowed
		return
	case kind > streamDecoder:
		s.CancelRead(errStreamCreation)
		return
	case !c.opened[kind].CompareAndSwap(false, true):
		c.fail(errStreamCreation)
		return
	}
	code := quic.ApplicationErrorCode(errClosedCritical)
	if kind == streamControl {
		code = c.control(&frames{src: src})
	} else {
		io.Copy(io.Discard, src) // there is no table for its instructions
	}
	c.fail(code)
}

// fail tells the server what it did wrong, and ends all requests. The pool does the rest.
func (c *conn) fail(code quic.ApplicationErrorCode) { c.quic.CloseWithError(code, "") }

// control reads the control stream (RFC 9114, sections 6.2.1 and 7.2) and returns the error with which
// to close the connection.
func (c *conn) control(f *frames) quic.ApplicationErrorCode {
	kind, length, err := f.next()
	if err != nil {
		return errClosedCritical
	}
	if kind != frameSettings {
		return errMissingSettings
	}
	if length > maxSettings {
		return errExcessiveLoad
	}
	for {
		// Nothing in the settings matters: heads are small, and no table is used.
		if err := f.skip(length); err != nil {
			return errClosedCritical
		}
		if kind, length, err = f.next(); err != nil {
			return errClosedCritical
		}
		switch kind {
		case frameGoAway:
			if code := c.readGoAway(f, length); code != 0 {
				return code
			}
			length = 0
		case frameData, frameHeaders, framePushPromise, frameSettings, frameMaxPushID:
			return errFrameUnexpected
		case framePing, framePriority, frameWindowUpdate, frameContinuation:
			return errFrameUnexpected
		}
	}
}

// readGoAway reads a frame of the number of a stream. It returns the error with which to close the
// connection, or 0.
func (c *conn) readGoAway(f *frames, length uint64) quic.ApplicationErrorCode {
	if length > 8 {
		return errFrame
	}
	payload, err := f.read(length)
	if err != nil {
		return errClosedCritical
	}
	from, n, err := quicvarint.Parse(payload)
	switch {
	case err != nil, uint64(n) != length:
		return errFrame
	case !c.goAway(from):
		return errID
	}
	return 0
}
