package fetchtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Failures describes what is tried again and again over a network that fails.
type Failures struct {
	// Try does one thing with a new client, which it closes before it returns, and returns what was
	// read and the error of it, be it only that of the last read. The client must have the
	// DialContext and the Timeouts of o; the rest is up to Try. It is called by several goroutines.
	Try func(t testing.TB, o *fetch.Options) (content []byte, err error)
	// Timeout is how long the client is to wait while the network works; 0 means long. It is for
	// servers that fall silent by themselves.
	Timeout time.Duration
	// Unframed is set where the end of the connection is the end of the content: then a beginning of
	// it is as right as all of it.
	Unframed bool
	// Datagrams is set for protocols over UDP, which ask again for what is lost and take what comes
	// twice for one: neither is a failure. The client must have the ListenPacket of o too.
	Datagrams bool
	// Codes are the classes of errors that are right besides ErrNetwork and ErrTruncated.
	Codes []fetch.Code
}

// A failure is a way in which one operation of a network fails.
type failure uint8

const (
	ending   failure = iota // the peer has closed the connection
	reset                   // it was reset
	silence                 // nothing comes or goes any more, until the time is over
	trickle                 // only one byte moves, and the rest later
	failures                // their number
)

func (f failure) String() string { return [...]string{"the end", "a reset", "silence", "one byte"}[f] }

// RunFailures tries once over a network that works, and then once for every dial, read and write of
// that, and for every way in which that one operation can fail: the peer has closed the connection,
// it was reset, or it falls silent. In a fourth way a single byte moves and the rest later, which
// is no failure. Datagrams are lost and come twice in place of the end and of single bytes.
// Whatever happens, the content must be right, or a beginning of what is right with an error of a
// class that fits; the trial must end, every connection be closed, and no goroutine be left. One
// operation that fails is not always one too many: drivers may try again.
func RunFailures(t testing.TB, f Failures) {
	t.Helper()
	label := fmt.Sprintf("fetchtest-failures-%d-", caseID.Add(1))
	pprof.Do(t.Context(), pprof.Labels("fetchtest", label), func(context.Context) { f.run(t) })
	ct := &caseTest{TB: t, timeout: 20 * time.Second}
	ct.until(func() string { return goroutinesWith(label) }, "goroutines outlive their client and responses")
}

func (f Failures) run(t testing.TB) {
	right := f.try(t, &network{at: -1})
	if right.ops == 0 {
		t.Fatal("the trial does nothing with connections of Options.DialContext")
	}
	type trial struct {
		at  int
		how failure
	}
	trials := make(chan trial)
	var (
		wg     sync.WaitGroup
		failed atomic.Bool
	)
	for range 24 { // most of them wait
		wg.Go(func() {
			for tr := range trials {
				got := f.try(t, &network{at: tr.at, how: tr.how})
				if wrong := f.judge(tr.how, right, got); wrong != "" {
					failed.Store(true)
					t.Errorf("%v at operation %d of %d, %s: %s", tr.how, tr.at+1, right.ops, got.what, wrong)
				}
			}
		})
	}
	for at := range right.ops {
		for how := range failures {
			if !failed.Load() { // one is enough: the others are mostly of the same kind
				trials <- trial{at, how}
			}
		}
	}
	close(trials)
	wg.Wait()
}

// A tried is what came of a trial.
type tried struct {
	content []byte
	err     error
	ops     int
	what    string // the operation that failed
	open    int    // connections left
}

const (
	// patient and short are the times for a reply with a network that works and one that falls
	// silent.
	patient, short = 20 * time.Second, 50 * time.Millisecond
)

func (f Failures) try(t testing.TB, n *network) tried {
	limit := cmp.Or(f.Timeout, patient)
	if n.how == silence && n.at >= 0 {
		limit = short
	}
	o := &fetch.Options{DialContext: n.dial, ListenPacket: n.listen, Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}}
	done := make(chan tried, 1)
	go func() {
		content, err := f.Try(t, o)
		done <- tried{content: content, err: err}
	}()
	var r tried
	select {
	case r = <-done:
	case <-time.After(2 * patient):
		r.err = fmt.Errorf("no end within %v", 2*patient)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.ops, r.open, r.what = n.ops, n.open, n.what
	return r
}

// judge returns what is wrong with got, "" if nothing is.
func (f Failures) judge(how failure, right, got tried) string {
	var e *fetch.Error
	switch {
	case got.open > 0:
		return fmt.Sprintf("%d connections are left open", got.open)
	case !bytes.HasPrefix(right.content, got.content):
		return "wrong content: " + difference(got.content, right.content[:min(len(right.content), len(got.content))])
	case got.err == nil && right.err != nil:
		return fmt.Sprintf("no error, where there is %q over a network that works", right.err)
	case got.err == nil && len(got.content) < len(right.content) && !f.Unframed:
		return fmt.Sprintf("%d of %d bytes came, and then the end as if that were all", len(got.content), len(right.content))
	case got.err == nil:
		return ""
	case !errors.As(got.err, &e):
		return fmt.Sprintf("error %v, want a *fetch.Error", got.err)
	case right.err != nil && e.Code == fetch.CodeOf(right.err):
		return ""
	case f.Datagrams && slices.Contains(f.Codes, e.Code):
		return ""
	case how == trickle, how == ending && f.Datagrams, e.Code != fetch.ErrNetwork && e.Code != fetch.ErrTruncated && !slices.Contains(f.Codes, e.Code):
		return fmt.Sprintf("error %v of class %q", got.err, e.Code)
	}
	return ""
}

// A network counts the operations on its connections, one of which fails.
type network struct {
	at  int // from 0; less than 0 for none
	how failure

	mu   sync.Mutex
	ops  int
	open int
	what string
}

// fails counts an operation and reports whether it is the one that fails.
func (n *network) fails(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ops++
	if n.ops-1 == n.at {
		n.what = what
		return true
	}
	return false
}

func (n *network) count(open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += open
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	datagrams := strings.HasPrefix(network, "udp") // which need nobody to connect to
	if !datagrams && n.fails("dial "+addr) && n.how != trickle {
		err := error(syscall.ECONNREFUSED)
		if n.how == silence {
			<-ctx.Done()
			err = ctx.Err()
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.count(1)
	if datagrams {
		return &failingDatagrams{Conn: c, failingSocket: failingSocket{n: n}}, nil
	}
	return &failingConn{Conn: c, n: n}, nil
}

// A failingConn is a connection of a network that fails.
type failingConn struct {
	net.Conn
	n      *network
	closed sync.Once

	mu       sync.Mutex
	err      error    // what reads and writes meet
	mute     net.Conn // in place of the connection, once it is silent; nil before
	far      net.Conn // of mute
	rd, wr   time.Time
	isClosed bool
}

// fail makes the connection fail from now on.
func (c *failingConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n.how == silence {
		c.mute, c.far = net.Pipe()
		c.mute.SetReadDeadline(c.rd)
		c.mute.SetWriteDeadline(c.wr)
		if c.isClosed {
			c.mute.Close()
		}
		return
	}
	c.err = err
	c.Conn.Close()
}

// state returns what is to be read and written, or the error of it.
func (c *failingConn) state() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mute != nil {
		return c.mute, nil
	}
	return c.Conn, c.err
}

func (c *failingConn) Read(p []byte) (int, error) {
	if c.n.fails("read") && len(p) > 0 {
		switch c.n.how {
		case trickle:
			p = p[:1]
		case ending:
			c.fail(io.EOF)
		case reset:
			c.fail(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
		case silence:
			c.fail(nil)
		}
	}
	conn, err := c.state()
	if err != nil {
		return 0, err
	}
	return conn.Read(p)
}

func (c *failingConn) Write(p []byte) (int, error) {
	if c.n.fails(fmt.Sprintf("write %.40q", p)) && len(p) > 0 {
		switch c.n.how {
		case trickle:
			if n, err := c.Conn.Write(p[:1]); err != nil {
				return n, err
			}
			n, err := c.Conn.Write(p[1:])
			return n + 1, err
		case ending, reset:
			c.fail(&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)})
		case silence:
			c.fail(nil)
		}
	}
	conn, err := c.state()
	if err == io.EOF { // which is for reads
		err = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	if err != nil {
		return 0, err
	}
	return conn.Write(p)
}

// CloseWrite implements what drivers look for in a connection.
func (c *failingConn) CloseWrite() error {
	conn, err := c.state()
	if cw, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
		return cw.CloseWrite()
	}
	return err
}

func (c *failingConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *failingConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rd = t
	if c.mute != nil {
		c.mute.SetReadDeadline(t)
	}
	if c.err != nil {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *failingConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wr = t
	if c.mute != nil {
		c.mute.SetWriteDeadline(t)
	}
	if c.err != nil {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *failingConn) Close() error {
	c.closed.Do(func() { c.n.count(-1) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isClosed = true
	if c.mute != nil {
		c.mute.Close()
		c.far.Close()
	}
	if c.err != nil {
		return nil
	}
	return c.Conn.Close()
}
