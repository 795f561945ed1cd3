package imap

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// failure returns the error for a status NO, BAD or BYE, by its response code if it has one (RFC
// 5530).
func failure(what, condition, text string) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Text: strings.TrimSpace(condition + " " + text)}}
	if what != "" {
		e.Err = errors.New(what)
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
