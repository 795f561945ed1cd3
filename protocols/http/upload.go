package http

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// An upload monitors the progress of a request body. On a shared connection a server can answer
// pings and never open the flow control window, so the connection is never idle. Reads are limited
// to the write buffer of HTTP/1.1.
type upload struct {
	idle  time.Duration
	stall func() // called if nothing was read for the idle timeout

	mu     sync.Mutex
	shared bool // the connection may carry other requests
	timer  *time.Timer
	over   bool
}

// begin begins the wait on a connection that has not yet taken a part of the body.
func (u *upload) begin(c net.Conn) {
	u.mu.Lock()
	u.shared, u.over = isShared(c), false
	u.mu.Unlock()
	u.wait()
}

func isShared(c net.Conn) bool {
	if c == nil {
		return false
	}
	if _, ok := c.(*tls.Conn); ok {
		return true
	}
	_, ok := c.RemoteAddr().(*net.UDPAddr)
	return ok
}

// wait starts the time within which the next part of the body must be read.
func (u *upload) wait() {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.over, !u.shared, u.idle <= 0:
	case u.timer == nil:
		u.timer = time.AfterFunc(u.idle, u.stall)
	default:
		u.timer.Reset(u.idle)
	}
}

// pause stops the timer while the source of the body is read. It returns how many of n bytes may be
// read at once.
func (u *upload) pause(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer != nil {
		u.timer.Stop()
	}
	if u.shared {
		n = min(n, writeBuffer)
	}
	return n
}

func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	if u.timer != nil {
		u.timer.Stop()
	}
}

// of makes a request report the reads of its body.
func (u *upload) of(r *http.Request) {
	wrapBody(r, func(body io.ReadCloser) io.ReadCloser {
		return &watched{ReadCloser: body, upload: u, size: r.ContentLength}
	})
}

// wrapBody wraps the body of a request, also when net/http sends it again.
func wrapBody(r *http.Request, wrap func(io.ReadCloser) io.ReadCloser) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	r.Body = wrap(r.Body)
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return wrap(body), nil
		}
	}
}

type watched struct {
	io.ReadCloser
	upload     *upload
	size, read int64 // size is Content-Length if greater than 0
}

func (b *watched) Read(p []byte) (int, error) {
	p = p[:b.upload.pause(len(p))]
	defer b.upload.wait()
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	switch {
	case b.size > 0 && (b.read > b.size || err == io.EOF && b.read < b.size):
		return n - int(max(b.read-b.size, 0)), &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("Content-Length is %d, but the request body has %s bytes", b.size, b.length())}
	case err == io.EOF, errors.Is(err, fs.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return n, err // net/http closes the body when the connection fails
	}
	return n, fetch.ErrFile.Wrap("", err) // a local error
}

func (b *watched) length() string {
	if b.read > b.size {
		return "more"
	}
	return strconv.FormatInt(b.read, 10)
}

func stalled(idle time.Duration) error {
	return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
		Err: &wire.TimeoutError{Op: "write", Idle: idle}}
}
