package transcript

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// A Piece is the bytes that one side sent until the other side sent something.
type Piece struct {
	Client bool
	Data   []byte
}

// String returns the piece as hexadecimal steps of 32 bytes each.
func (p Piece) String() string {
	side := "S<"
	if p.Client {
		side = "C<"
	}
	var b strings.Builder
	for finish := p.Data; len(finish) > 0; {
		b.WriteString(side)
		for range 4 {
			n := min(8, len(finish))
			if n > 0 {
				fmt.Fprintf(&b, " %x", finish[:n])
			}
			finish = finish[n:]
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Replay plays the transcript at path as a server and passes its address to run. If URLGET_WRITE is
// set, Replay first records the transcript: start starts the servers, and run talks to them. Its
// first connection leads to the first server, and so on; further connections lead to the last.
// Script formats the pieces of a connection as steps. The comment at the start of the file is kept.
func Replay(t testing.TB, path string, start func() (addrs []string), run func(addr string),
	script func([]Piece) string) {
	t.Helper()
	capture(t, path, start, run, script)
	conv, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	run(Server(t, conv))
}

func capture(t testing.TB, path string, start func() (addrs []string), run func(addr string),
	script func([]Piece) string) {
	t.Helper()
	if os.Getenv("URLGET_WRITE") == "" {
		return
	}
	addr, conns := Record(t, start()...)
	run(addr)
	archive := &txtar.Archive{}
	if old, err := txtar.ParseFile(path); err == nil {
		archive.Comment = old.Comment
	}
	for i, pieces := range conns() {
		archive.Files = append(archive.Files,
			txtar.File{Name: fmt.Sprintf("connection %d", i+1), Data: []byte(script(pieces))})
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Record returns an address that relays its first connection to the first server in addrs, and so
// on. Further connections lead to the last server. Conns waits until all connections have ended and
// returns their pieces.
func Record(t testing.TB, addrs ...string) (relay string, conns func() [][]Piece) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var wg sync.WaitGroup
	var all []*recording
	wg.Go(func() {
		for i := 0; ; i++ {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addrs[min(i, len(addrs)-1)])
			if err != nil {
				near.Close()
				return
			}
			r := &recording{}
			all = append(all, r)
			wg.Go(func() { r.pass(far, near, true) })
			wg.Go(func() { r.pass(near, far, false) })
		}
	})
	return l.Addr().String(), func() (pieces [][]Piece) {
		l.Close()
		wg.Wait()
		for _, r := range all {
			pieces = append(pieces, r.pieces)
		}
		return pieces
	}
}

type recording struct {
	mu     sync.Mutex
	pieces []Piece
}

// pass relays one direction and closes both connections at its end.
func (r *recording) pass(to, from net.Conn, client bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		r.mu.Lock()
		if last := len(r.pieces) - 1; last >= 0 && r.pieces[last].Client == client {
			r.pieces[last].Data = append(r.pieces[last].Data, buf[:n]...)
		} else {
			r.pieces = append(r.pieces, Piece{client, bytes.Clone(buf[:n])})
		}
		r.mu.Unlock()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
