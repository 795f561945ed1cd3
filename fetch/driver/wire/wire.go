// Package wire reads and writes the lines of text protocols, such as FTP, NNTP and Gopher. [Lines]
// checks commands for CR, LF and NUL. [Reader] and [DotReader] read lines, numeric replies and
// dot-terminated blocks of limited size.
package wire

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// The errors of this package. Use errors.Is to test for them.
var (
	ErrUnsafe       = errors.New("unsafe byte in a command")
	ErrLineTooLong  = errors.New("line too long")
	ErrReplyTooLong = errors.New("reply too long")
	ErrMalformed    = errors.New("malformed reply")
)

// CheckLine returns an error that matches ErrUnsafe if s contains CR, LF or NUL and so cannot be
// sent as a line. RFC 1738, section 6, warns of URLs that contain additional commands.
func CheckLine(s string) error {
	if i := strings.IndexAny(s, "\r\n\x00"); i >= 0 {
		return &unsafeError{Byte: s[i], Offset: i}
	}
	return nil
}

// An unsafeError describes the byte that makes a line unsafe. It does not contain the line, which
// may be secret. It matches ErrUnsafe.
type unsafeError struct {
	Byte   byte // '\r', '\n' or 0
	Offset int  // position in the line, from 0
}

func (e *unsafeError) Error() string {
	name := map[byte]string{'\r': "CR", '\n': "LF", 0: "NUL"}[e.Byte]
	return fmt.Sprintf("a command must not contain %s (byte %d of the line)", name, e.Offset+1)
}

func (e *unsafeError) Unwrap() error { return ErrUnsafe }

// A LineTooLongError is returned if the peer sends a line longer than Max bytes. It matches
// ErrLineTooLong.
type LineTooLongError struct {
	Max int // in bytes, not counting the line ending
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the server sent a line of more than %d bytes", e.Max)
}

func (e *LineTooLongError) Unwrap() error { return ErrLineTooLong }

// IsLineCut reports whether err is a Reader's own *LineTooLongError, so that the following lines
// can be read. It returns false for errors of the underlying reader, even if they match
// ErrLineTooLong, because each later call returns them too.
func IsLineCut(err error) bool {
	_, ok := err.(*LineTooLongError)
	return ok
}

// A TimeoutError is returned if the peer makes no progress for the idle timeout, is late by that
// time at 256 bytes per second, does not complete a reply within the reply timeout, or sends content
// too slowly for a client that limits that. It is a net.Error and matches os.ErrDeadlineExceeded.
type TimeoutError struct {
	Op   string // "read" or "write"
	Idle time.Duration
	// Reply is set if Idle is the reply timeout and part of the reply had arrived.
	Reply bool
	// Piece is set if a line, message or record was incomplete and arrived too slowly.
	Piece bool
	// Rate is the least rate of content in bytes per second if only Received bytes arrived within
	// Idle; otherwise it is 0.
	Rate, Received int64
	// Awaited is "greeting" or "reply" if none of it has arrived.
	Awaited string
}

func (e *TimeoutError) Error() string {
	if e.Reply {
		return fmt.Sprintf("no complete reply within %v", e.Idle)
	}
	if e.Rate > 0 {
		return fmt.Sprintf("too slow: %d bytes in %v, less than %d bytes per second", e.Received, e.Idle,
			e.Rate)
	}
	if e.Piece {
		return fmt.Sprintf("too slow: a line, message or record is %v late", e.Idle)
	}
	if e.Op == "write" {
		return fmt.Sprintf("nothing could be sent for %v", e.Idle)
	}
	if e.Awaited != "" {
		return fmt.Sprintf("no %s within %v", e.Awaited, e.Idle)
	}
	return fmt.Sprintf("nothing received for %v", e.Idle)
}

// Timeout reports true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary reports true, so that crypto/tls does not mistake a read that may be retried for a
// broken connection.
func (e *TimeoutError) Temporary() bool { return true }

// Is matches os.ErrDeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }
