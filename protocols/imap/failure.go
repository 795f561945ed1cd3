package imap

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// The response code, if there is one, selects the error code (RFC 5530).
func failure(desc, condition, text string) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrRefused,
		Reply: fetch.Reply{Text: strings.TrimSpace(condition + " " + text)}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	name, _, _ := strings.Cut(code(text), " ")
	switch {
	case name == "NONEXISTENT", name == "EXPUNGED":
		e.Code = fetch.ErrNotFound
	case name == "AUTHENTICATIONFAILED", name == "AUTHORIZATIONFAILED", name == "EXPIRED":
		e.Code = fetch.ErrAuth
	case name == "PRIVACYREQUIRED":
		e.Code = fetch.ErrTLS
	case name == "UNAVAILABLE", name == "INUSE", name == "LIMIT", condition == "BYE":
		e.Code, e.Retry = fetch.ErrBusy, true
	case name == "SERVERBUG", name == "CORRUPTION", name == "CONTACTADMIN", condition == "BAD":
		e.Code = fetch.ErrServer
	}
	return e
}
