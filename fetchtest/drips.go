package fetchtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Drips describes a retrieval from a server that sends very slowly or without end.
type Drips struct {
	// Open returns a new client and a request. The client must use the DialContext and Timeouts of
	// o. The server may serve the request, refuse it, or not have the file. RunDrips closes the
	// client. Open is called by several goroutines.
	Open func(t testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request)
	// Says are texts of up to 12 bytes that the server repeats instead of its reply. Longer ones
	// would not be slow enough. RunDrips also uses some texts that belong to no protocol.
	Says []string
	// Pieces is set if the content is only usable after much of it has arrived, as with one long
	// line or record. Then a dripping retrieval must end. Otherwise it may continue, because its
	// reader sees how slow it is.
	Pieces bool
	// Session opens a session, which is read but not written.
	Session bool
}

const (
	// dripTime is the timeout of the client in RunDrips; dripEvery is the interval of the drops.
	dripTime, dripEvery = 200 * time.Millisecond, 50 * time.Millisecond
	// dripBound is the time after which a waiting client is considered stuck. It exceeds what a
	// slow machine needs, and is shorter than a complete dripped conversation.
	dripBound = 12 * time.Second
	// dripPlaces and longDripPlaces are the number of offsets in a conversation at which dripping
	// starts, without and with URLGET_LONG.
	dripPlaces, longDripPlaces = 4, 10
)

// RunDrips performs one retrieval over a working network. It then repeats the retrieval with a
// server that drips from one of four offsets on, or of ten if URLGET_LONG is set. The server sends
// its reply byte by byte, or repeats
// the same bytes instead of its reply. Another server echoes its input. Opening, every read and
// every wait for an entry must end after the timeout. No connection and no goroutine may be left.
func RunDrips(t testing.TB, d Drips) {
	t.Helper()
	label := fmt.Sprintf("fetchtest-drips-%d-", caseID.Add(1))
	pprof.Do(t.Context(), pprof.Labels("fetchtest", label), func(context.Context) { d.run(t) })
	ct := &caseTest{TB: t, timeout: 2 * time.Minute}
	ct.until(func() string { return goroutinesWith(label) },
		"goroutines have not ended after their client was closed")
}

func (d Drips) run(t testing.TB) {
	whole := &drippingNetwork{from: 1 << 62}
	if err := d.try(t, whole); err != nil && !hasCode(err, fetch.ErrRefused, fetch.ErrNotFound) {
		t.Fatalf("over a working network: %v", err)
	}
	length := whole.passed.Load()
	trials := make(chan *drippingNetwork)
	var wg sync.WaitGroup
	for range 64 { // most of them wait
		wg.Go(func() {
			for n := range trials {
				if err := d.try(t, n); err != nil {
					t.Errorf("%s from byte %d of %d: %v", n.name(), n.from, length, err)
				}
				// A driver's goroutine may close a broken connection after the client.
				for limit := time.Now().Add(time.Minute); n.open.Load() > 0 && time.Now().Before(limit); {
					time.Sleep(time.Millisecond)
				}
				if open := n.open.Load(); open > 0 {
					t.Errorf("%s from byte %d of %d: %d connections are not closed", n.name(), n.from, length,
						open)
				}
			}
		})
	}
	places := int64(dripPlaces)
	if IsLong() {
		places = longDripPlaces
	}
	for i := range places {
		trials <- &drippingNetwork{from: i * length / places, drip: true}
		for _, say := range append([]string{"x", "x\r\n", "\x00"}, d.Says...) {
			trials <- &drippingNetwork{from: i * length / places, say: say, drip: true}
		}
	}
	trials <- &drippingNetwork{echo: true, drip: true}
	close(trials)
	wg.Wait()
}

// try performs one retrieval. Its error names the step that did not end; over a working network it
// is the error of the retrieval.
func (d Drips) try(t testing.TB, n *drippingNetwork) error {
	limit := dripTime
	if !n.drip {
		limit = longTimeout
	}
	c, req := d.Open(t, &fetch.Options{DialContext: n.dial,
		Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}})
	steps, ended := make(chan string, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := d.retrieve(ctx, c, req, n, steps)
		c.Close()
		ended <- err
	}()
	defer cancel()
	for step := "opening"; ; {
		select {
		case step = <-steps:
		case err := <-ended:
			if n.drip && !errors.Is(err, errContinues) {
				return nil
			}
			return err
		case <-time.After(dripBound):
			if !n.drip {
				continue
			}
			cancel()
			<-ended
			return fmt.Errorf("%s did not end within %v", step, dripBound)
		}
	}
}

var errContinues = errors.New("the content continues")

// retrieve opens and reads the resource, and sends the name of each step. It stops reading content
// that continues for too long.
func (d Drips) retrieve(ctx context.Context, c *fetch.Client, req *fetch.Request, n *drippingNetwork,
	steps chan<- string) error {
	resp, err := d.open(ctx, c, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	steps <- "reading"
	begun := time.Now()
	enough := func() error {
		switch took := time.Since(begun); {
		case !n.drip:
			return nil
		case d.Pieces && n.say == "" && took > dripBound:
			return errContinues
		case (!d.Pieces || n.say != "") && took > 3*dripTime:
			return net.ErrClosed
		}
		steps <- "reading"
		return nil
	}
	if req.Op == fetch.OpList && resp.Entries != nil {
		for _, err := range resp.Entries {
			if err == nil {
				err = enough()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for p := make([]byte, 4<<10); ; {
		_, err := resp.Body.Read(p)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = enough()
		}
		if err != nil {
			return err
		}
	}
}

// open opens a resource or a session.
func (d Drips) open(ctx context.Context, c *fetch.Client, req *fetch.Request) (*fetch.Response, error) {
	if !d.Session {
		return c.Do(ctx, req)
	}
	s, err := c.Dial(ctx, req.URL.String())
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Body: s}, nil
}

// A drippingNetwork forwards a number of bytes, counted over all connections, and then drips.
type drippingNetwork struct {
	from int64
	drip bool
	say  string // repeated text; "" for the server's own bytes, one at a time
	echo bool

	passed atomic.Int64
	open   atomic.Int64
}

func (n *drippingNetwork) name() string {
	switch {
	case n.echo:
		return "an echo"
	case n.say == "":
		return "a drip"
	}
	return fmt.Sprintf("endless %q", n.say)
}

func (n *drippingNetwork) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var (
		c   net.Conn
		err error
	)
	if n.echo {
		var far net.Conn
		c, far = net.Pipe()
		go func() {
			defer far.Close()
			io.Copy(far, far)
		}()
	} else if c, err = new(net.Dialer).DialContext(ctx, network, addr); err != nil {
		return nil, err
	}
	n.open.Add(1)
	d := &drippingClient{Conn: c, network: n}
	if !n.echo {
		d.near, d.far = net.Pipe()
		d.ended = make(chan struct{})
		go d.pump()
	}
	return d, nil
}

// A drippingClient is the client's side of a connection. It reads from a pipe that pump fills.
type drippingClient struct {
	net.Conn
	network   *drippingNetwork
	near, far net.Conn // nil for an echo
	ended     chan struct{}
	closed    sync.Once
}

// pump forwards the bytes of the server, and then drips.
func (c *drippingClient) pump() {
	defer c.far.Close()
	b := make([]byte, 32<<10)
	for {
		room := c.network.from - c.network.passed.Load()
		if room <= 0 {
			break
		}
		n, err := c.Conn.Read(b[:min(int64(len(b)), room)])
		c.network.passed.Add(int64(n))
		if _, werr := c.far.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ended:
			return
		}
		drop := []byte(c.network.say)
		if c.network.say == "" {
			n, err := c.Conn.Read(b[:1])
			if err != nil {
				return
			}
			drop = b[:n]
		}
		if _, err := c.far.Write(drop); err != nil {
			return
		}
	}
}

func (c *drippingClient) Read(p []byte) (int, error) {
	if c.near == nil {
		return c.Conn.Read(p)
	}
	return c.near.Read(p)
}

func (c *drippingClient) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *drippingClient) SetReadDeadline(t time.Time) error {
	if c.near == nil {
		return c.Conn.SetReadDeadline(t)
	}
	return c.near.SetReadDeadline(t)
}

// CloseWrite closes the sending side, as net.TCPConn does; drivers look for this method.
func (c *drippingClient) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *drippingClient) Close() error {
	c.closed.Do(func() {
		c.network.open.Add(-1)
		if c.near != nil {
			close(c.ended)
			c.near.Close()
		}
	})
	return c.Conn.Close()
}
