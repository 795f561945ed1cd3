package fetch

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetchtest/servers"
)

// A piece that cannot be used before it is complete fails after the idle timeout if it arrives at
// less than 256 bytes per second.
func TestSlowPieces(t *testing.T) {
	t.Parallel()
	const idle = 10 * time.Second
	for _, tt := range []struct {
		name   string
		begin  func(*Conn)
		burst  int           // bytes sent first
		drop   string        // sent repeatedly after the burst
		every  time.Duration // interval between drops
		within time.Duration // maximum time until Read fails; 0 if it must not fail
	}{
		{"bytes that are no piece", func(*Conn) {}, 0, "x", time.Second, 0},
		{"a message", func(c *Conn) { c.Piece() }, 0, "x", time.Second, 12 * time.Second},
		{"a message after a fast beginning", func(c *Conn) { c.Piece() }, 1 << 20, "x", time.Second, 12 * time.Second},
		{"a message at a modem's rate", func(c *Conn) { c.Piece() }, 0, strings.Repeat("x", 300), time.Second, 0},
		{"what follows a message", func(c *Conn) { c.Piece()() }, 0, "x", time.Second, 0},
		{"a line", (*Conn).PieceLines, 0, "x", time.Second, 12 * time.Second},
		{"a line after others", (*Conn).PieceLines, 0, "x\nx", 3 * time.Second, 0},
		{"a line that drips by two", (*Conn).PieceLines, 0, "xx", 6 * time.Second, 15 * time.Second},
		{"lines", (*Conn).PieceLines, 0, "x\n", 9 * time.Second, 0},
		{"a reply", func(c *Conn) { c.PieceLines(); c.ReplyTimeout(time.Hour) }, 0, "x", time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, peer := pipe(t, idle)
				tt.begin(c)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					peer.Write(make([]byte, tt.burst))
					for {
						if _, err := io.WriteString(peer, tt.drop); err != nil {
							return
						}
						time.Sleep(tt.every)
					}
				}()
				begun := time.Now()
				var (
					err  error
					took time.Duration
				)
				for err == nil && time.Since(begun) < 2*time.Minute {
					_, err = c.Read(make([]byte, 4<<10))
					took = time.Since(begun)
				}
				c.Close()
				<-ended
				var late *wire.TimeoutError
				switch {
				case tt.within == 0 && err != nil:
					t.Errorf("error %v after %v, want none", err, took)
				case tt.within > 0 && (!errors.As(err, &late) || !late.Piece):
					t.Errorf("error %v, want that of a piece that comes too slowly", err)
				case tt.within > 0 && took > tt.within:
					t.Errorf("it ended after %v, want %v", took, tt.within)
				}
			})
		})
	}
}

// Only the time spent in Read counts toward the rate of a piece.
func TestReaderPausesDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, 10*time.Second)
		defer c.Close()
		c.PieceLines()
		go func() {
			for range 20 {
				peer.Write([]byte("x"))
			}
		}()
		for range 20 {
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A TLS record cannot be read before it is complete, so the bytes of an incomplete record do not
// reset the timeout.
func TestSlowTLSRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serverTLS, clientTLS := servers.Certificate()
		a, b := net.Pipe()
		slow := &drippingConn{Conn: b}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s := tls.Server(slow, serverTLS)
			s.Write([]byte("at once"))
			slow.every = time.Second
			s.Write(make([]byte, 16<<10))
		}()
		c := newConn(a, 10*time.Second)
		cfg := clientTLS.Clone()
		cfg.ServerName = "localhost"
		if err := c.Handshake(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len("at once"))); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err := c.Read(make([]byte, 1))
		var late *wire.TimeoutError
		if took := time.Since(begun); !errors.As(err, &late) || took > 12*time.Second {
			t.Errorf("error %v after %v, want that of a record that comes too slowly", err, took)
		}
		c.Abort()
		<-ended
	})
}

// A drippingConn writes one byte at a time.
type drippingConn struct {
	net.Conn
	every time.Duration // interval between bytes; 0 writes all at once
}

func (c *drippingConn) Write(p []byte) (int, error) {
	if c.every == 0 {
		return c.Conn.Write(p)
	}
	for i := range p {
		time.Sleep(c.every)
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}
