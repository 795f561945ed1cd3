package uri

import (
	"errors"
	"strconv"
	"strings"
)

// ErrControl reports a percent-encoded CR, LF or NUL in a place where the
// decoded text could reach a command line (RFC 1738, section 6). An [*Error]
// with this cause matches it by [errors.Is].
var ErrControl = errors.New("encoded CR, LF or NUL")

// An Error says why a text is not a URI, or a URI not one of its scheme.
type Error struct {
	Input  string // the text, without a password, shortened if it is very long
	Reason string // what is wrong, in a few words
	Offset int    // where, in octets from the start of the text; -1 if that is not known
	Err    error  // the cause, such as ErrControl, or nil
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	msg := "malformed URL " + strconv.Quote(e.Input) + ": " + e.Reason
	if e.Offset >= 0 {
		msg += " at octet " + strconv.Itoa(e.Offset)
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxErrorInput bounds the text that an Error repeats.
const maxErrorInput = 200

// redactText removes what may be a password from a text that did not parse. If
// there is an "@" behind a colon, all between them goes, even where a "/" or
// "?" that should have been encoded makes the authority look shorter.
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
