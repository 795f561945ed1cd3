package pop

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// failure returns the error for a -ERR reply. The response code, if there is one, selects the error
// code (RFC 2449, section 8; RFC 3206).
func failure(desc, text string) *driver.Error {
	e := &driver.Error{Code: driver.ErrRefused, Reply: driver.Reply{Text: strings.TrimSpace("-ERR " + text)}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(strings.ToUpper(text), "["), "]")
	if !strings.HasPrefix(text, "[") {
		return e
	}
	switch {
	case code == "IN-USE", code == "LOGIN-DELAY", code == "SYS/TEMP":
		e.Code, e.Retry = driver.ErrBusy, true
	case strings.HasPrefix(code, "SYS"):
		e.Code = driver.ErrServer
	case code == "AUTH":
		e.Code = driver.ErrAuth
	}
	return e
}

// isRefusal reports whether err is a -ERR reply.
func isRefusal(err error) bool { return mailsession.Refusal(err) != nil }

// isPlainRefusal reports whether err is a -ERR reply without a known response code.
func isPlainRefusal(err error) bool { return isRefusal(err) && driver.CodeOf(err) == driver.ErrRefused }
