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

// Drips describes what is retrieved from servers that never come to an end.
type Drips struct {
	// Open returns a new client, with the DialContext and the Timeouts of o, and what to ask of it,
	// which the server has, refuses, or does not have.
	// The client is closed afterwards. It is called by several goroutines.
	Open func(t testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request)
	// Says are what the server may say again and again in place of what is due: up to 12 bytes, as
	// faster ones are no drip. Some that belong to no protocol are always tried.
	Says []string
	// Pieces is set if the content is of no use before much of it has come, as with one long line or
	// record. Then the retrieval must end if it drips; otherwise it may go on, as its reader sees
	// how slow it is.
	Pieces bool
	// Session opens a session, which is only read from.
	Session bool
}

const (
	// dripTime is how long the client of RunDrips waits, and dripEvery the time between two drops.
	dripTime, dripEvery = 200 * time.Millisecond, 50 * time.Millisecond
	// dripBound is when a client that still waits waits for ever: it is more than any slow machine
	// needs, and less than it takes a conversation to drip to its end.
	dripBound = 12 * time.Second
	// dripPlaces is the number of places in a conversation from which on it drips.
	dripPlaces = 10
)

// RunDrips retrieves once over a network that works, and then lets the conversation drip from ten
// places on: byte by byte, or with the same bytes or lines again and again in place of what is due.
// Another server returns what it gets. Whatever comes, opening must end after the timeout, and so
// must every read and every wait for an entry; no connection and no goroutine may be left.
func RunDrips(t testing.TB, d Drips) {
	t.Helper()
	label := fmt.Sprintf("fetchtest-drips-%d-", caseID.Add(1))
	pprof.Do(t.Context(), pprof.Labels("fetchtest", label), func(context.Context) { d.run(t) })
	ct := &caseTest{TB: t, timeout: 20 * time.Second}
	ct.until(func() string { return goroutinesWith(label) }, "goroutines outlive their client and responses")
}

func (d Drips) run(t testing.TB) {
	whole := &drippingNetwork{from: 1 << 62}
	if err := d.try(t, whole); err != nil && !hasCode(err, fetch.ErrRefused, fetch.ErrNotFound) {
		t.Fatalf("over a network that works: %v", err)
	}
	length := whole.passed.Load()
	trials := make(chan *drippingNetwork)
	var wg sync.WaitGroup
	for range 64 { // most of them wait
		wg.Go(func() {
			for n := range trials {
				if err := d.try(t, n); err != nil {
					t.Errorf("%s from byte %d of %d on: %v", n.name(), n.from, length, err)
				}
				if open := n.open.Load(); open > 0 {
					t.Errorf("%s from byte %d of %d on: %d connections are left open", n.name(), n.from, length, open)
				}
			}
		})
	}
	for i := range int64(dripPlaces) {
		trials <- &drippingNetwork{from: i * length / dripPlaces, drip: true}
		for _, say := range append([]string{"x", "x\r\n", "\x00"}, d.Says...) {
			trials <- &drippingNetwork{from: i * length / dripPlaces, say: say, drip: true}
		}
	}
	trials <- &drippingNetwork{echo: true, drip: true}
	close(trials)
	wg.Wait()
}

// try retrieves over a network. Its error says which wait did not end, if one did not, or why
// nothing came over a network that works.
func (d Drips) try(t testing.TB, n *drippingNetwork) error {
	limit := dripTime
	if !n.drip {
		limit = patient
	}
	c, req := d.Open(t, &fetch.Options{DialContext: n.dial, Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}})
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
			if n.drip && !errors.Is(err, errGoesOn) {
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

var errGoesOn = errors.New("the content goes on")

// retrieve retrieves, and tells each step. It gives up soon what goes on.
func (d Drips) retrieve(ctx context.Context, c *fetch.Client, req *fetch.Request, n *drippingNetwork, steps chan<- string) error {
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
			return errGoesOn
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

// A drippingNetwork lets bytes pass, all connections together, and then drips.
type drippingNetwork struct {
	from int64
	drip bool
	say  string // what drips; "" for the bytes that are due, one at a time
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
	return fmt.Sprintf("%q without end", n.say)
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

// A drippingClient is the client's side of a connection. What it reads goes through a pipe.
type drippingClient struct {
	net.Conn
	network   *drippingNetwork
	near, far net.Conn // nil for an echo
	ended     chan struct{}
	closed    sync.Once
}

// pump passes on what the server sends.
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

// CloseWrite implements what drivers look for in a connection.
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
