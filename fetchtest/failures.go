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

// Failures describes an operation that is repeated over a failing network.
type Failures struct {
	// Try performs the operation with a new client, closes the client, and returns the bytes read
	// and the error, which may be that of the last read. The client must use the DialContext and
	// Timeouts of o. Try is called by several goroutines.
	Try func(t testing.TB, o *fetch.Options) (content []byte, err error)
	// Timeout is the client's timeout while the network works; 0 means 20 seconds. It is for
	// servers that stop sending by themselves.
	Timeout time.Duration
	// Unframed is set if the content ends with the connection. Then a prefix of it is correct
	// without an error.
	Unframed bool
	// Datagrams is set for protocols over UDP, which repeat lost requests and ignore duplicates.
	// Neither may cause an error. The client must also use the ListenPacket of o.
	Datagrams bool
	// Codes are the error classes that are accepted in addition to ErrNetwork and ErrTruncated.
	Codes []fetch.Code

	patience time.Duration // wait for connections to be closed; 0 means a minute
	quiet    time.Duration // timeouts with silence; 0 means shortTimeout
}

// A failure is a way in which one operation of a network fails.
type failure uint8

const (
	closing  failure = iota // the peer closes the connection
	reset                   // the connection is reset
	silence                 // nothing is received or sent until the timeout
	trickle                 // one byte is transferred, and the rest later
	failures                // number of failures
)

func (f failure) String() string { return [...]string{"close", "reset", "silence", "single byte"}[f] }

// RunFailures runs Try once over a working network, and then once for every dial, read and write of
// that run and every failure. The peer closes the connection, the connection is reset, or nothing
// is transferred any more. A fourth failure transfers a single byte first, which must not cause an
// error. Datagrams are lost or duplicated instead of closing the connection and transferring single
// bytes. Without URLGET_LONG, an operation of a long run has only two of the four failures, in turn.
//
// The content must be complete, or a prefix with an error of a fitting class. The operation must
// end, all connections must be closed, and no goroutine may be left. Drivers may retry, so Try may
// succeed.
func RunFailures(t testing.TB, f Failures) {
	t.Helper()
	label := fmt.Sprintf("fetchtest-failures-%d-", caseID.Add(1))
	pprof.Do(t.Context(), pprof.Labels("fetchtest", label), func(context.Context) { f.run(t) })
	ct := &caseTest{TB: t, timeout: 2 * time.Minute}
	ct.until(func() string { return goroutinesWith(label) },
		"goroutines have not ended after their client was closed")
}

func (f Failures) run(t testing.TB) {
	right := f.try(t, &network{at: -1})
	if right.ops == 0 {
		t.Fatal("Try does not use Options.DialContext")
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
			if !IsLong() && right.ops > shortRun && (at/2+int(how))%2 != 0 {
				continue
			}
			if !failed.Load() { // the others are usually of the same kind
				trials <- trial{at, how}
			}
		}
	}
	close(trials)
	wg.Wait()
}

// A trialResult is the result of one run.
type trialResult struct {
	content []byte
	err     error
	ops     int
	what    string // the operation that failed
	open    int    // connections that are still open
}

// shortRun is the number of operations up to which every operation has all failures.
const shortRun = 6

const (
	// longTimeout and shortTimeout are the timeouts with a working network and with silence.
	longTimeout, shortTimeout = 20 * time.Second, 50 * time.Millisecond
)

func (f Failures) try(t testing.TB, n *network) trialResult {
	limit := cmp.Or(f.Timeout, longTimeout)
	if n.how == silence && n.at >= 0 {
		limit = cmp.Or(f.quiet, shortTimeout)
	}
	o := &fetch.Options{DialContext: n.dial, ListenPacket: n.listen,
		Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}}
	done := make(chan trialResult, 1)
	go func() {
		content, err := f.Try(t, o)
		done <- trialResult{content: content, err: err}
	}()
	var r trialResult
	select {
	case r = <-done:
	case <-time.After(2 * longTimeout):
		r.err = fmt.Errorf("no end within %v", 2*longTimeout)
	}
	// A driver's goroutine may close a broken connection after the client.
	for limit := time.Now().Add(cmp.Or(f.patience, time.Minute)); n.openConns() > 0 &&
		time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.ops, r.open, r.what = n.ops, n.open, n.what
	return r
}

// judge describes the mistake in got, or returns "".
func (f Failures) judge(how failure, right, got trialResult) string {
	var e *fetch.Error
	switch {
	case got.open > 0:
		return fmt.Sprintf("%d connections are not closed", got.open)
	case !bytes.HasPrefix(right.content, got.content):
		return "wrong content: " +
			difference(got.content, right.content[:min(len(right.content), len(got.content))])
	case got.err == nil && right.err != nil:
		return fmt.Sprintf("no error, want %q as over a working network", right.err)
	case got.err == nil && len(got.content) < len(right.content) && !f.Unframed:
		return fmt.Sprintf("%d of %d bytes without an error", len(got.content), len(right.content))
	case got.err == nil:
		return ""
	case !errors.As(got.err, &e):
		return fmt.Sprintf("error %v, want a *fetch.Error", got.err)
	case right.err != nil && e.Code == fetch.CodeOf(right.err):
		return ""
	case f.Datagrams && slices.Contains(f.Codes, e.Code):
		return ""
	case how == trickle, how == closing && f.Datagrams, e.Code != fetch.ErrNetwork &&
		e.Code != fetch.ErrTruncated && !slices.Contains(f.Codes, e.Code):
		return fmt.Sprintf("error %v of class %q", got.err, e.Code)
	}
	return ""
}

// A network counts the operations on its connections. One of them fails.
type network struct {
	at  int // index of the operation that fails; negative for none
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

func (n *network) openConns() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

func (n *network) count(open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += open
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	datagrams := strings.HasPrefix(network, "udp") // connecting a UDP socket sends nothing
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

// A failingConn is a connection that fails at one operation.
type failingConn struct {
	net.Conn
	n      *network
	closed sync.Once

	mu       sync.Mutex
	err      error    // returned by reads and writes
	mute     net.Conn // replaces the connection once it is silent; nil before
	far      net.Conn // the other end of mute
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

// state returns the connection to read from or write to, or an error.
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
		case closing:
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
		case closing, reset:
			c.fail(&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)})
		case silence:
			c.fail(nil)
		}
	}
	conn, err := c.state()
	if err == io.EOF { // set for reads
		err = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	if err != nil {
		return 0, err
	}
	return conn.Write(p)
}

// CloseWrite closes the sending side, as net.TCPConn does; drivers look for this method.
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
