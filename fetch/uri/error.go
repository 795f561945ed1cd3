package uri

import (
	"errors"
	"strconv"
	"strings"
)

// ErrControl is the cause of an [*Error] about CR, LF or NUL in text that could reach the command
// line of a protocol (RFC 1738, section 6).
var ErrControl = errors.New("encoded CR, LF or NUL")

// An Error is returned for text that is not a URI, for a URI that is not valid in its scheme, and
// for fields that cannot be written as a URI.
type Error struct {
	Input  string // the text without its password, shortened if it is very long
	Reason string // the reason, in a few words
	Offset int    // in bytes from the start of the text; -1 if unknown
	Err    error  // the cause, such as ErrControl, or nil
}

// Error returns the quoted input, the reason and the offset on one line.
func (e *Error) Error() string {
	msg := "malformed URL " + strconv.Quote(e.Input) + ": " + e.Reason
	if e.Offset >= 0 {
		msg += " at byte " + strconv.Itoa(e.Offset)
	}
	return msg
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// maxErrorInput limits the length of the quoted text, in bytes.
const maxErrorInput = 200

// redactText removes a possible password from text that could not be parsed: everything between a
// colon and a later "@". A "/" or "?" in between may be a password character that should have been
// encoded.
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
