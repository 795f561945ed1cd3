// Package pace bounds the wait for lines, messages and records that come slowly but steadily.
package pace

import (
	"bytes"
	"io"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// LeastRate is how fast, in bytes per second, a piece must come: a line, message or record, of
// which nothing is of use before all of it is there. It is less than the slowest modems did.
const LeastRate = 256

// A Pace bounds the wait for a piece that comes slowly but steadily. The peer may be behind
// LeastRate by as much as it may be silent, so a piece that comes byte by byte is given up as soon
// as silence would be. What comes faster is not saved up.
type Pace struct {
	Idle time.Duration // how far the peer may be behind; 0 means that there is no bound
	left time.Duration
}

// Begin begins the next piece.
func (p *Pace) Begin() { p.left = p.Idle }

// Left returns how long the next read may take.
func (p *Pace) Left() time.Duration { return max(p.left, 0) }

// Took tells that a read of n bytes of the piece has taken a time.
func (p *Pace) Took(n int, d time.Duration) {
	p.left = min(p.Idle, p.left-d+time.Duration(n)*time.Second/LeastRate)
}

// TookLines is Took where each line is a piece, for the bytes that were read.
func (p *Pace) TookLines(b []byte, d time.Duration) {
	if bytes.LastIndexByte(b, '\n') >= 0 {
		p.Begin()
	} else {
		p.Took(len(b), d)
	}
}

// Late returns the error for a piece that takes too long, nil if it does not.
func (p *Pace) Late() error {
	if p.Idle <= 0 || p.left > 0 {
		return nil
	}
	return &wire.TimeoutError{Op: "read", Idle: p.Idle, Piece: true}
}

// Lines returns a reader of r, each of whose reads ends by itself, that fails if a line takes
// longer than a Pace allows.
func Lines(r io.Reader, idle time.Duration) io.Reader {
	p := &pacedReader{r: r, pace: Pace{Idle: idle}}
	p.pace.Begin()
	return p
}

type pacedReader struct {
	r    io.Reader
	pace Pace
}

func (r *pacedReader) Read(p []byte) (int, error) {
	begun := time.Now()
	n, err := r.r.Read(p)
	r.pace.TookLines(p[:n], time.Since(begun))
	if err == nil {
		err = r.pace.Late()
	}
	return n, err
}
