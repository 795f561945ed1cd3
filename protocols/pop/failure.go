package pop

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// The response code, if there is one, selects the error code (RFC 2449, section 8; RFC 3206).
func failure(desc, text string) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Text: strings.TrimSpace("-ERR " + text)}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(strings.ToUpper(text), "["), "]")
	if !strings.HasPrefix(text, "[") {
		if isLocked(strings.ToLower(text)) {
			e.Code, e.Retry = fetch.ErrBusy, true
		}
		return e
	}
	switch {
	case code == "IN-USE", code == "LOGIN-DELAY", code == "SYS/TEMP":
		e.Code, e.Retry = fetch.ErrBusy, true
	case strings.HasPrefix(code, "SYS"):
		e.Code = fetch.ErrServer
	case code == "AUTH":
		e.Code = fetch.ErrAuth
	}
	return e
}

// isLocked reports whether another session has the mailbox (RFC 1939, section 4), in the words of servers
// without response codes.
func isLocked(text string) bool {
	return (strings.Contains(text, "maildrop") || strings.Contains(text, "mailbox")) &&
		(strings.Contains(text, "lock") || strings.Contains(text, "in use") || strings.Contains(text, "busy"))
}

func isRefusal(err error) bool { return mailsession.Refusal(err) != nil }

// isPlainRefusal reports whether err is a -ERR reply without a known response code.
func isPlainRefusal(err error) bool { return isRefusal(err) && fetch.CodeOf(err) == fetch.ErrRefused }
