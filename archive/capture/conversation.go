package capture

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"
)

const (
	// maxConversation bounds what is kept of the conversation on a connection, in bytes.
	maxConversation = 1 << 20
	// maxConns bounds the connections of an exchange of which something is kept.
	maxConns = 64
)

// A conversation is that of one exchange, on all its connections: each piece with its
// direction, connection and time, in the order in which the pieces went by.
type conversation struct {
	begin  time.Time
	pieces []piece
	spoken bool // there are bytes; lines are for protocols that have none
	conns  map[int]*side
}

// A side is what went by on a connection.
type side struct {
	sum      hash.Hash // of what was received
	received int64
	kept     int
	cut      bool // some was not kept
}

// A piece is something that was said, or how a connection was made.
type piece struct {
	mark  byte // '=', '>' or '<'
	conn  int
	after time.Duration
	text  []byte
}

func (d *conversation) note(mark byte, conn int, text []byte) {
	if d.conns == nil {
		d.conns = make(map[int]*side)
	}
	c := d.conns[conn]
	if c == nil {
		if len(d.conns) == maxConns {
			return
		}
		c = &side{sum: sha256.New()}
		d.conns[conn] = c
	}
	if conn > 0 && mark == '<' {
		c.sum.Write(text)
		c.received += int64(len(text))
	}
	d.spoken = d.spoken || conn > 0 && mark != '='
	if c.kept += len(text) + 64; c.kept > maxConversation {
		c.cut = true
		return
	}
	d.pieces = append(d.pieces, piece{mark, conn, time.Since(d.begin), append([]byte(nil), text...)})
}

// write writes the conversation, and reports whether it is whole. What came on a connection and is
// just the content, with that digest, is left out.
func (d *conversation) write(w io.Writer, content string, size int64) (whole bool) {
	whole = true
	same := make(map[int]bool)
	for n, c := range d.conns {
		same[n] = size > 0 && c.received == size && fmt.Sprintf("sha256:%x", c.sum.Sum(nil)) == content
		whole = whole && (!c.cut || same[n])
	}
	for _, p := range d.pieces {
		switch {
		case p.conn == 0 && d.spoken:
			continue
		case p.mark == '=':
			fmt.Fprintf(w, "= %d %.6f %s\r\n", p.conn, p.after.Seconds(), p.text)
			continue
		case p.mark == '<' && same[p.conn]:
			fmt.Fprintf(w, "* %d %.6f %d\r\n", p.conn, p.after.Seconds(), len(p.text))
			continue
		}
		fmt.Fprintf(w, "%c %d %.6f %d\r\n", p.mark, p.conn, p.after.Seconds(), len(p.text))
		w.Write(p.text)
		io.WriteString(w, "\r\n")
	}
	return whole
}
