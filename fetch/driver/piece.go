package driver

import "time"

// Pieces are what is of no use to anybody before all of it has come: lines, messages, records. A
// peer that sends them byte by byte makes progress, but nothing comes of it. So a piece must come
// at 256 bytes per second, and may fall behind that by the idle timeout. What is passed on as it
// comes needs no such bound, as its reader sees how slow it is.
type pieces uint8

const (
	noPieces   pieces = iota
	wholePiece        // all that is read until further notice is one
	linePieces        // each line is one
)

// Piece says that what is read until done is called is a single message or record: it must come at
// 256 bytes per second, and may fall behind that by the idle timeout.
func (c *Conn) Piece() (done func()) {
	before := c.setPieces(wholePiece)
	return func() { c.setPieces(before) }
}

// PieceLines says that what is read from now on comes in lines, each of which must come at 256
// bytes per second, and may fall behind that by the idle timeout. Replies are bounded by
// ReplyTimeout instead.
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

// beginPiece sets the deadline for a read, and returns when it began; the zero time if no piece is
// being read.
func (c *Conn) beginPiece() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rd.piece = time.Time{}
	if c.pieces == noPieces || c.replying || c.pace.Idle == 0 {
		return time.Time{}
	}
	begun := time.Now()
	c.rd.piece = begun.Add(c.pace.Left())
	return begun
}

// endPiece tells what a read of a piece has brought, and how long it took.
func (c *Conn) endPiece(p []byte, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pieces == linePieces {
		c.pace.TookLines(p, d)
	} else {
		c.pace.Took(len(p), d)
	}
}

// inPieces reports whether reads have to be watched one by one.
func (c *Conn) inPieces() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pieces != noPieces
}
