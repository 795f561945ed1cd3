package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// The exit statuses. The first failure decides.
const (
	exitOK             = 0
	exitOther          = 1
	exitUsage          = 2
	exitFile           = 3
	exitNetwork        = 4
	exitTLS            = 5
	exitAuth           = 6
	exitProtocol       = 7
	exitRefused        = 8
	exitNotRetrievable = 16
	exitPolicy         = 17
	exitIncomplete     = 18
	exitInterrupted    = 130
)

// A usageError is a mistake on the command line.
type usageError struct{ text, hint string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) *usageError {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// exitStatus returns the status that err stands for.
func exitStatus(err error) int {
	if err == nil {
		return exitOK
	}
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return exitUsage
	}
	switch fetch.CodeOf(err) {
	case fetch.ErrNotModified:
		return exitOK
	case fetch.ErrURL:
		return exitUsage
	case fetch.ErrFile:
		return exitFile
	case fetch.ErrNetwork:
		return exitNetwork
	case fetch.ErrTLS:
		return exitTLS
	case fetch.ErrAuth:
		return exitAuth
	case fetch.ErrProtocol, fetch.ErrRedirect:
		return exitProtocol
	case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrBusy, fetch.ErrServer, fetch.ErrRange:
		return exitRefused
	case fetch.ErrScheme, fetch.ErrNotRetrievable, fetch.ErrInteractive, fetch.ErrNeedSearch, fetch.ErrNeedForm:
		return exitNotRetrievable
	case fetch.ErrPolicy:
		return exitPolicy
	case fetch.ErrTruncated, fetch.ErrChanged, fetch.ErrTooLarge:
		return exitIncomplete
	case fetch.ErrInterrupted:
		return exitInterrupted
	}
	return exitOther
}

// printError writes what went wrong as one line, and a second one with what
// can be done about it. subject is the URL that the user gave, redacted, or
// "".
func printError(w io.Writer, subject string, err error) {
	line, hint := "urlget: ", ""
	if subject != "" {
		line += fetch.Printable(subject) + ": "
	}
	var own *fetch.Error
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		hint = wrong.hint
	case errors.As(err, &own):
		hint = own.Hint
		if own.URL != "" && own.URL != subject {
			line += fetch.Printable(own.URL) + ": " // where a redirect led
		}
	}
	line += render.Message(err) + "\n"
	if hint != "" {
		line += "hint: " + fetch.Printable(hint) + "\n"
	}
	io.WriteString(w, line)
}

// fileError gives an error of the local system its class.
func fileError(err error) error {
	if err == nil || fetch.CodeOf(err) != "" {
		return err
	}
	return &fetch.Error{Code: fetch.ErrFile, Err: err}
}
