package http

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// An upload watches that the sending of a body goes on. On a connection that several requests share,
// a server can answer pings, and never give room for the body: the connection is not idle then. It
// takes as much at once there as one of HTTP/1.1 does.
type upload struct {
	idle  time.Duration
	stall func() // called when nothing was taken for the idle time

	mu     sync.Mutex
	shared bool // the connection may carry other requests
	timer  *time.Timer
	over   bool
}

// begin begins the wait on a connection, on which nothing of the body was taken yet.
func (u *upload) begin(c net.Conn) {
	u.mu.Lock()
	u.shared, u.over = isShared(c), false
	u.mu.Unlock()
	u.wait()
}

// isShared reports whether a connection speaks HTTP/2 or HTTP/3.
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

// wait begins the time in which more of the body has to be taken.
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

// pause ends the wait, as it is the source of the body that is waited for. It returns how much of n
// bytes may be taken at once.
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

// end ends the watch.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	if u.timer != nil {
		u.timer.Stop()
	}
}

// of makes a request tell what is taken of its body.
func (u *upload) of(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	r.Body = &watched{r.Body, u}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &watched{body, u}, nil
		}
	}
}

// A watched body is one whose sending is watched.
type watched struct {
	io.ReadCloser
	upload *upload
}

func (b *watched) Read(p []byte) (int, error) {
	p = p[:b.upload.pause(len(p))]
	defer b.upload.wait()
	return b.ReadCloser.Read(p)
}

// stalled is the error of an upload that does not go on.
func stalled(idle time.Duration) error {
	return &driver.Error{Code: driver.ErrNetwork, Retry: true, Err: &wire.TimeoutError{Op: "write", Idle: idle}}
}
