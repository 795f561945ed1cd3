package capture

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/urlget/urlget/archive/internal/digest"
)

const (
	// maxConversation limits the recorded conversation of one connection, in bytes.
	maxConversation = 1 << 20
	// maxConns limits the number of connections recorded for one exchange.
	maxConns = 64
)

// A conversation is the bytes of one exchange on all its connections, in order. Each piece has its
// direction, connection and time.
type conversation struct {
	begin    time.Time
	pieces   []piece
	hasBytes bool // bytes were reported; lines are recorded only if there are none
	conns    map[int]*traffic
}

type traffic struct {
	sum       hash.Hash // of the bytes received
	received  int64
	size      int
	truncated bool
}

// A piece is a sequence of bytes sent or received, or the description of a connection.
type piece struct {
	mark   byte // '=', '>' or '<'
	conn   int
	offset time.Duration
	text   []byte
}

func (d *conversation) add(mark byte, conn int, text []byte) {
	if d.conns == nil {
		d.conns = make(map[int]*traffic)
	}
	c := d.conns[conn]
	if c == nil {
		if len(d.conns) == maxConns {
			return
		}
		c = &traffic{sum: sha256.New()}
		d.conns[conn] = c
	}
	if conn > 0 && mark == '<' {
		c.sum.Write(text)
		c.received += int64(len(text))
	}
	d.hasBytes = d.hasBytes || conn > 0 && mark != '='
	if c.size += len(text) + 64; c.size > maxConversation {
		c.truncated = true
		return
	}
	d.pieces = append(d.pieces, piece{mark, conn, time.Since(d.begin), append([]byte(nil), text...)})
}

// write writes the conversation and reports whether it is complete. Bytes received that equal the
// content, whose digest is given, are omitted.
func (d *conversation) write(w io.Writer, content string, size int64) (complete bool) {
	complete = true
	isContent := make(map[int]bool)
	for n, c := range d.conns {
		isContent[n] = size > 0 && c.received == size && digest.SHA256(c.sum) == content
		complete = complete && (!c.truncated || isContent[n])
	}
	for _, p := range d.pieces {
		switch {
		case p.conn == 0 && d.hasBytes:
			continue
		case p.mark == '=':
			fmt.Fprintf(w, "= %d %.6f %s\r\n", p.conn, p.offset.Seconds(), p.text)
			continue
		case p.mark == '<' && isContent[p.conn]:
			fmt.Fprintf(w, "* %d %.6f %d\r\n", p.conn, p.offset.Seconds(), len(p.text))
			continue
		}
		fmt.Fprintf(w, "%c %d %.6f %d\r\n", p.mark, p.conn, p.offset.Seconds(), len(p.text))
		w.Write(p.text)
		io.WriteString(w, "\r\n")
	}
	return complete
}
