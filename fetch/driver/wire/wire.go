// Package wire is for drivers of protocols that converse in lines, such as FTP, NNTP and Gopher. It
// holds what they share: [Lines] guards commands against CR, LF and NUL, and [Reader] and
// [DotReader] read lines, numeric replies and dot-terminated blocks within bounds.
package wire

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Errors of this package match one of these with errors.Is.
var (
	ErrUnsafe       = errors.New("unsafe byte in a command")
	ErrLineTooLong  = errors.New("line too long")
	ErrReplyTooLong = errors.New("reply too long")
	ErrMalformed    = errors.New("malformed reply")
)

// CheckLine returns an *UnsafeError if s must not be sent as a line because it contains CR, LF or
// NUL (RFC 1738, section 6: a URL must not smuggle in extra commands).
func CheckLine(s string) error {
	if i := strings.IndexAny(s, "\r\n\x00"); i >= 0 {
		return &UnsafeError{Byte: s[i], Offset: i}
	}
	return nil
}

// An UnsafeError says which byte kept a line from being sent. It does not hold the line itself,
// which may be secret. It matches ErrUnsafe.
type UnsafeError struct {
	Byte   byte // '\r', '\n' or 0
	Offset int  // position in the line, from 0
}

func (e *UnsafeError) Error() string {
	name := map[byte]string{'\r': "CR", '\n': "LF", 0: "NUL"}[e.Byte]
	return fmt.Sprintf("a command must not contain %s (byte %d of the line)", name, e.Offset+1)
}

func (e *UnsafeError) Unwrap() error { return ErrUnsafe }

// A LineTooLongError says that the peer sent a line longer than Max bytes. It matches
// ErrLineTooLong.
type LineTooLongError struct {
	Max int // in bytes, not counting the line ending
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the server sent a line of more than %d bytes", e.Max)
}

func (e *LineTooLongError) Unwrap() error { return ErrLineTooLong }

// IsLineCut reports whether a Reader returned err with the beginning of a line that is too long, so
// that the next lines can be read. Errors of what the Reader reads from are none of those, also if
// they match ErrLineTooLong: they come again with each call.
func IsLineCut(err error) bool {
	_, ok := err.(*LineTooLongError)
	return ok
}

// A TimeoutError says that the peer made no progress for the idle timeout, fell behind 256 bytes per second by
// as much, or did not complete a reply within the reply timeout. It is a net.Error and matches
// os.ErrDeadlineExceeded.
type TimeoutError struct {
	Op   string // "read" or "write"
	Idle time.Duration
	// Reply is set if Idle is the reply timeout and part of the reply had arrived.
	Reply bool
	// Piece is set if a line, message or record had begun, and came too slowly.
	Piece bool
	// Phase is what did not come.
	Phase Phase
}

// A Phase is what a connection waits for.
type Phase uint8

// The phases: nothing was said yet by either side, or what was sent is not answered; otherwise what
// has begun does not go on.
const (
	PhaseIdle Phase = iota
	PhaseGreeting
	PhaseReply
)

func (e *TimeoutError) Error() string {
	if e.Reply {
		return fmt.Sprintf("no complete reply within %v", e.Idle)
	}
	if e.Piece {
		return fmt.Sprintf("what comes is too slow: a line, message or record fell %v behind", e.Idle)
	}
	if e.Op == "write" {
		return fmt.Sprintf("nothing could be sent for %v", e.Idle)
	}
	switch e.Phase {
	case PhaseGreeting:
		return fmt.Sprintf("no greeting within %v", e.Idle)
	case PhaseReply:
		return fmt.Sprintf("no reply within %v", e.Idle)
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
