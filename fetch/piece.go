package fetch

import "time"

// Pieces are units of input that are useless before all of it has arrived: lines, messages,
// records. A peer that sends them byte by byte satisfies the idle timeout without useful progress.
// A piece must therefore arrive at 256 bytes per second, and may be late by the idle timeout. Input
// that is passed on as it arrives has no such limit, because its reader sees how slow it is.
type pieces uint8

const (
	noPieces   pieces = iota
	wholePiece        // all input until further notice is one piece
	linePieces        // each line is a piece
)

// Piece starts a single message or record, which ends when done is called. It must arrive at 256
// bytes per second, and may be late by the idle timeout.
func (c *Conn) Piece() (done func()) {
	before := c.setPieces(wholePiece)
	return func() { c.setPieces(before) }
}

// PieceLines declares that later input consists of lines. Each must arrive at 256 bytes per second,
// and may be late by the idle timeout. ReplyTimeout limits replies instead.
func (c *Conn) PieceLines() { c.setPieces(linePieces) }

func (c *Conn) setPieces(p pieces) (before pieces) {
	idle := c.idleTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.pieces = c.pieces, p
	c.pace.Idle = idle
	c.pace.Begin()
	c.rd.piece = time.Time{}
	return before
}

func (c *Conn) idleTimeout() time.Duration {
	if c.raw != nil {
		c = c.raw
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle
}

// beginPiece sets the deadline for a read and returns its start time, or the zero time if no piece
// is being read.
func (c *Conn) beginPiece() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rd.piece = time.Time{}
	if c.pieces == noPieces || c.replying || c.pace.Idle == 0 {
		return time.Time{}
	}
	begun := time.Now()
	c.rd.piece = begun.Add(c.pace.Remaining())
	return begun
}

func (c *Conn) endPiece(p []byte, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pieces == linePieces {
		c.pace.AddLines(p, d)
	} else {
		c.pace.Add(len(p), d)
	}
}

func (c *Conn) mustTimeReads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pieces != noPieces
}
