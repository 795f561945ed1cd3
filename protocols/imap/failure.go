package imap

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
)

// failure returns the error for a NO, BAD or BYE response. The response code, if there is one,
// selects the error code (RFC 5530).
func failure(desc, condition, text string) *driver.Error {
	e := &driver.Error{Code: driver.ErrRefused, Reply: driver.Reply{Text: strings.TrimSpace(condition + " " + text)}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	name, _, _ := strings.Cut(code(text), " ")
	switch {
	case name == "NONEXISTENT", name == "EXPUNGED":
		e.Code = driver.ErrNotFound
	case name == "AUTHENTICATIONFAILED", name == "AUTHORIZATIONFAILED", name == "EXPIRED":
		e.Code = driver.ErrAuth
	case name == "PRIVACYREQUIRED":
		e.Code = driver.ErrTLS
	case name == "UNAVAILABLE", name == "INUSE", name == "LIMIT", condition == "BYE":
		e.Code, e.Retry = driver.ErrBusy, true
	case name == "SERVERBUG", name == "CORRUPTION", name == "CONTACTADMIN", condition == "BAD":
		e.Code = driver.ErrServer
	}
	return e
}
