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

// A Piece is what one side sent until the other spoke.
type Piece struct {
	Client bool
	Data   []byte
}

// String returns the piece as steps in hexadecimal, of 32 bytes each.
func (p Piece) String() string {
	side := "S<"
	if p.Client {
		side = "C<"
	}
	var b strings.Builder
	for rest := p.Data; len(rest) > 0; {
		b.WriteString(side)
		for range 4 {
			n := min(8, len(rest))
			if n > 0 {
				fmt.Fprintf(&b, " %x", rest[:n])
			}
			rest = rest[n:]
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Replay lets run, which is given an address, talk to a server that plays the transcript at path. If
// the environment has URLGET_WRITE, the transcript is written anew before: from what run and the server
// that start starts say to each other on one connection. Script writes that down; the comment at the
// beginning of the file stays.
func Replay(t testing.TB, path string, start func() (addr string), run func(addr string), script func([]Piece) string) {
	t.Helper()
	renew(t, path, start, run, script)
	conv, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	run(Server(t, conv))
}

func renew(t testing.TB, path string, start func() (addr string), run func(addr string), script func([]Piece) string) {
	t.Helper()
	if os.Getenv("URLGET_WRITE") == "" {
		return
	}
	addr, pieces := Record(t, start())
	run(addr)
	archive := &txtar.Archive{}
	if old, err := txtar.ParseFile(path); err == nil {
		archive.Comment = old.Comment
	}
	archive.Files = []txtar.File{{Name: "connection", Data: []byte(script(pieces()))}}
	if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Record returns an address that leads to the server at addr, for one connection. Pieces waits until
// that has ended and returns what passed.
func Record(t testing.TB, addr string) (relay string, pieces func() []Piece) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{}
	r.wg.Go(func() {
		near, err := l.Accept()
		l.Close()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", addr)
		if err != nil {
			near.Close()
			return
		}
		r.wg.Go(func() { r.pass(far, near, true) })
		r.pass(near, far, false)
	})
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), func() []Piece {
		r.wg.Wait()
		return r.pieces
	}
}

type recording struct {
	wg     sync.WaitGroup
	mu     sync.Mutex
	pieces []Piece
}

// pass sends on what one side says, and closes both connections when it has ended.
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
