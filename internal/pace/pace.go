// Package pace bounds the time to read lines, messages and records from a slow peer.
package pace

import (
	"bytes"
	"io"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// LeastRate is the minimum rate of a piece in bytes per second. A piece is a line, message or record
// that is useless until it is complete. The rate is below that of the slowest modems.
const LeastRate = 256

// A Pace bounds the time to read a piece. The peer may be behind LeastRate by at most Idle, so
// sending byte by byte times out as soon as silence. A faster peer gains no credit.
type Pace struct {
	Idle time.Duration // maximum delay of the peer; 0 means unlimited
	left time.Duration
}

// Begin starts the next piece.
func (p *Pace) Begin() { p.left = p.Idle }

// Remaining returns the timeout of the next read.
func (p *Pace) Remaining() time.Duration { return max(p.left, 0) }

// Add records that a read of n bytes of the piece took d.
func (p *Pace) Add(n int, d time.Duration) {
	p.left = min(p.Idle, p.left-d+time.Duration(n)*time.Second/LeastRate)
}

// AddLines is Add for a read of b if each line is a piece.
func (p *Pace) AddLines(b []byte, d time.Duration) {
	if bytes.LastIndexByte(b, '\n') >= 0 {
		p.Begin()
	} else {
		p.Add(len(b), d)
	}
}

// Late returns an error if the piece takes too long, otherwise nil.
func (p *Pace) Late() error {
	if p.Idle <= 0 || p.left > 0 {
		return nil
	}
	return &wire.TimeoutError{Op: "read", Idle: p.Idle, Piece: true}
}

// A Reader returns an error if a piece takes longer than a Pace allows. Reads of the reader below must
// have a timeout of their own.
type Reader struct {
	r     io.Reader
	pace  Pace
	lines bool // each line is a piece
}

// NewReader returns a Reader of r at the beginning of a piece.
func NewReader(r io.Reader, idle time.Duration) *Reader {
	return &Reader{r: r, pace: Pace{Idle: idle, left: idle}}
}

// Lines is NewReader for lines, each of which is a piece.
func Lines(r io.Reader, idle time.Duration) *Reader {
	p := NewReader(r, idle)
	p.lines = true
	return p
}

// Begin starts the next piece.
func (r *Reader) Begin() { r.pace.Begin() }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	begun := time.Now()
	n, err := r.r.Read(p)
	if d := time.Since(begun); r.lines {
		r.pace.AddLines(p[:n], d)
	} else {
		r.pace.Add(n, d)
	}
	if err == nil {
		err = r.pace.Late()
	}
	return n, err
}
