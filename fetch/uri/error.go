package uri

import (
	"errors"
	"strconv"
	"strings"
)

// ErrControl is the cause of an [*Error] about CR, LF or NUL in text that could reach the command
// line of a protocol (RFC 1738, section 6).
var ErrControl = errors.New("encoded CR, LF or NUL")

// An Error says why a text is not a URI, why a URI is not a valid one of its scheme, or why a URI
// cannot be written.
type Error struct {
	Input  string // the text, without its password, shortened if it is very long
	Reason string // what is wrong, in a few words
	Offset int    // where, in bytes from the start of the text; -1 if that is not known
	Err    error  // the cause, such as ErrControl, or nil
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	msg := "malformed URL " + strconv.Quote(e.Input) + ": " + e.Reason
	if e.Offset >= 0 {
		msg += " at byte " + strconv.Itoa(e.Offset)
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxErrorInput bounds the text that an Error repeats.
const maxErrorInput = 200

// redactText removes what may be a password from a text that did not parse: everything between a
// colon and an "@" after it, even if a "/" or "?" that should have been encoded makes the authority
// look shorter.
func redactText(s string) string {
	if i := strings.Index(s, "//"); i >= 0 {
		rest := s[i+2:]
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		colon := strings.IndexByte(rest[:end], ':')
		at := strings.LastIndexByte(rest[:end], '@')
		if at < 0 {
			at = strings.LastIndexByte(rest, '@')
		}
		if colon >= 0 && colon+1 < at {
			s = s[:i+2] + rest[:colon+1] + mask + rest[at:]
		}
	}
	if len(s) > maxErrorInput {
		s = s[:maxErrorInput] + "..."
	}
	return s
}
