package rsync

import (
	"cmp"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/rsync"
)

var (
	errRefused = errors.New("the user name or password was refused")
	// errEnded is the error of a stream that the server ends with a message.
	errEnded      = errors.New("the server ended the transfer")
	errIncomplete = errors.New("the listing is incomplete")
)

// refusals are the errors before a transfer, by a part of their text.
var refusals = []struct {
	text string
	err  fetch.Error
}{
	{"unknown module", fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("no such module"),
		Hint: "use the URL of the host without a path to list the modules"}},
	{"auth failed", fetch.Error{Code: fetch.ErrAuth, Err: errRefused}},
	{"access denied", fetch.Error{Code: fetch.ErrRefused}},
	{"max connections", fetch.Error{Code: fetch.ErrBusy, Retry: true}},
}

// refusal returns the error for the text of a line with "@ERROR".
func refusal(said string) error {
	for _, r := range refusals {
		if strings.Contains(strings.ToLower(said), r.text) {
			r.err.Reply.Text = said
			return &r.err
		}
	}
	return &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: said}}
}

// errno matches the number of an error of the server's system. The numbers below are the same on all
// systems.
var errno = regexp.MustCompile(`\((\d+)\)$`)

var errnoCodes = map[string]fetch.Code{
	"1":  fetch.ErrRefused,  // EPERM
	"2":  fetch.ErrNotFound, // ENOENT
	"13": fetch.ErrRefused,  // EACCES
	"20": fetch.ErrNotFound, // ENOTDIR
}

// complaintError returns the error for the first message about an error.
func (s *session) complaintError() *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: s.complaint}}
	if m := errno.FindStringSubmatch(s.complaint); m != nil {
		e.Code = cmp.Or(errnoCodes[m[1]], e.Code)
	}
	if strings.HasPrefix(s.complaint, "file has vanished") {
		e.Code = fetch.ErrNotFound
	}
	return e
}

// fail returns the error for a stream that ended with err.
func (s *session) fail(err error) error {
	switch {
	case errors.Is(err, rsync.ErrMalformed):
		return fetch.ErrProtocol.Errorf("%w", err)
	case !errors.Is(err, errEnded) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case s.complaint != "":
		return s.complaintError()
	case errors.Is(err, errEnded):
		return &fetch.Error{Code: fetch.ErrServer, Err: errEnded}
	}
	return io.ErrUnexpectedEOF
}
