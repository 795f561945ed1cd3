// Package wire holds the parts that all line protocols share: connections bound to contexts and
// idle timeouts, the guard against CR, LF and NUL in commands, and bounded readers for lines,
// numeric replies and dot-terminated blocks.
package wire

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// The sentinels that errors of this package match by errors.Is.
var (
	ErrUnsafe       = errors.New("unsafe octet in a command")
	ErrLineTooLong  = errors.New("line too long")
	ErrReplyTooLong = errors.New("reply too long")
	ErrMalformed    = errors.New("malformed reply")
)

// CheckLine refuses a string that must not be sent as one line because it holds CR, LF or NUL. The
// error is an *UnsafeError (RFC 1738, section 6: a URL must not smuggle in further commands).
func CheckLine(s string) error {
	if i := strings.IndexAny(s, "\r\n\x00"); i >= 0 {
		return &UnsafeError{Octet: s[i], Offset: i}
	}
	return nil
}

// An UnsafeError tells which octet kept a line from being sent. It does not hold the line, which may
// be a secret. It matches ErrUnsafe.
type UnsafeError struct {
	Octet  byte // '\r', '\n' or 0
	Offset int  // where in the line, from 0
}

func (e *UnsafeError) Error() string {
	name := map[byte]string{'\r': "CR", '\n': "LF", 0: "NUL"}[e.Octet]
	return fmt.Sprintf("a command must not contain %s (octet %d of the line)", name, e.Offset+1)
}

func (e *UnsafeError) Unwrap() error { return ErrUnsafe }

// A LineTooLongError tells that the peer sent a line longer than Max bytes. It matches ErrLineTooLong.
type LineTooLongError struct {
	Max int // in bytes, without the line end
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the server sent a line of more than %d bytes", e.Max)
}

func (e *LineTooLongError) Unwrap() error { return ErrLineTooLong }

// A TimeoutError tells that a peer made no progress for the idle time. It is a net.Error and
// matches os.ErrDeadlineExceeded.
type TimeoutError struct {
	Op   string // "read" or "write"
	Idle time.Duration
}

func (e *TimeoutError) Error() string {
	if e.Op == "write" {
		return fmt.Sprintf("nothing could be sent for %v", e.Idle)
	}
	return fmt.Sprintf("nothing received for %v", e.Idle)
}

// Timeout reports true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary reports true, so that a TLS layer above does not take a read that may be tried again
// for a broken connection.
func (e *TimeoutError) Temporary() bool { return true }

// Is matches os.ErrDeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }
