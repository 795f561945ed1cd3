package ftp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// errUnusable marks the failure of a connection, as opposed to a refusal by the server.
var errUnusable = errors.New("connection lost")

// greeting is the command name in errors about the greeting.
const greeting = "the connection"

func noReply(command string, err error) error {
	code := fetch.CodeOf(err)
	if silence := (*wire.TimeoutError)(nil); code == "" && errors.As(err, &silence) {
		return &replyTimeout{command, err}
	}
	if code == "" {
		return fmt.Errorf("%w before the reply to %s: %w", errUnusable, command, err)
	}
	return err
}

type replyTimeout struct {
	command string
	err     error
}

func (e *replyTimeout) Error() string {
	if e.command == greeting {
		return e.err.Error()
	}
	return e.err.Error() + " to " + e.command
}

func (e *replyTimeout) Unwrap() []error { return []error{errUnusable, e.err} }

// isStale reports whether err means that the server has closed an idle connection.
func isStale(err error) bool {
	var e *fetch.Error
	return errors.Is(err, errUnusable) || errors.As(err, &e) && hangsUp(e.Reply.Code, e.Reply.Text)
}

// hangsUp reports whether a reply is the last of its connection: 421, or "500 OOPS:". With the
// latter vsftpd reports why the process of a session has died, after any command.
func hangsUp(code int, text string) bool {
	return code == 421 || code == 500 && strings.HasPrefix(text, "OOPS:")
}

// isFull reports whether a reply to a login is about the number of users, in the words of ProFTPD, wu-ftpd
// and IIS, and not about that of failed logins.
func isFull(text string) bool {
	return contains(text, []string{"too many", "maximum", "max ", "limit"}) &&
		contains(text, []string{"user", "client", "connection", "session"}) &&
		!contains(text, []string{"fail", "attempt", "lock", "password", "incorrect", "denied", "invalid"})
}

// misconfigured lists words in fatal errors of vsftpd that last until its configuration is changed.
var misconfigured = []string{
	"refusing to run", "cannot change directory", "chroot", "config", "bad bool", "unrecognised",
}

func refusal(command string, r wire.Reply) *fetch.Error {
	code, retry := classify(r)
	e := &fetch.Error{Code: code, Retry: retry, Reply: replyOf(r)}
	if command != greeting {
		e.Err = errors.New(command)
	}
	return e
}

func replyOf(r wire.Reply) fetch.Reply { return fetch.Reply{Code: r.Code, Text: r.Text()} }

// classify returns the class of a negative reply (RFC 959, section 4.2; RFC 4217, section 12), and
// whether the command may succeed later.
func classify(r wire.Reply) (code fetch.Code, retry bool) {
	switch r.Code {
	case 421:
		return fetch.ErrBusy, true
	case 425:
		return fetch.ErrNetwork, true
	case 426:
		return fetch.ErrTruncated, true
	case 530:
		if isFull(strings.ToLower(r.Text())) {
			return fetch.ErrBusy, true
		}
		return fetch.ErrAuth, false
	case 430, 532, 331, 332:
		return fetch.ErrAuth, false
	case 431, 522, 533, 534, 535, 536, 537:
		return fetch.ErrTLS, false
	case 450, 550:
		text := strings.ToLower(r.Text())
		switch {
		case contains(text, absent):
			return fetch.ErrNotFound, false
		case r.Code == 450:
			return fetch.ErrBusy, true
		}
		return fetch.ErrRefused, false
	}
	if hangsUp(r.Code, r.Text()) {
		return fetch.ErrServer, !contains(strings.ToLower(r.Text()), misconfigured)
	}
	switch r.Code / 100 {
	case 4:
		return fetch.ErrServer, true
	case 5:
		return fetch.ErrRefused, false
	}
	return fetch.ErrProtocol, false
}

// Code 550 means "requested action not taken", for any reason. The text gives the reason.
var (
	// absent lists phrases for a missing file.
	absent = []string{
		"no such", "not found", "not exist", "nonexist", "cannot find", "can't find",
		"couldn't find", "could not find", "unable to find", "unknown file", "no file",
		"failed to change directory", "invalid directory",
	}
	// denied lists phrases for an existing file that may not be retrieved.
	denied = []string{
		"permission", "denied", "not permitted", "not allowed", "forbidden", "access", "privilege",
		"authori", "regular file", "plain file", "directory",
	}
	// unread lists phrases of a positive final reply to a listing whose directory could not be read,
	// such as vsftpd's "226 Transfer done (but failed to open directory)."
	unread = []string{
		"failed to open", "permission denied", "access denied", "access is denied", "cannot open",
		"can't open", "could not open", "couldn't open", "unable to open", "cannot read",
		"could not read", "unable to read",
	}
)

func contains(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// isRefusal reports whether the server refused the file, rather than the command or the user. RFC 959
// has 450, 451 and 501 for RETR besides 550, and servers send 553, for a directory too; the class does
// not tell these from other trouble, but the connection remains usable.
func isRefusal(err error) bool {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reply.Code {
	case 550:
		return e.Code == fetch.ErrNotFound || e.Code == fetch.ErrRefused
	case 450, 451, 501, 553:
		return e.Err != nil && strings.HasPrefix(e.Err.Error(), "RETR ")
	}
	return false
}

// isUnknown reports whether the server does not implement a command, or not with this argument.
func isUnknown(r wire.Reply) bool {
	return r.Code >= 500 && r.Code <= 504 && !hangsUp(r.Code, r.Text())
}
