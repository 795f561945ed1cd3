package sftp

import (
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// refusal returns the error that a status reports (section 7 of the draft).
func refusal(t filexfer.Type, code filexfer.Code, text string) error {
	e := &fetch.Error{Code: fetch.ErrServer, Err: errors.New(t.String()), Reply: fetch.Reply{Code: int(code), Text: text}}
	switch code {
	case filexfer.CodeNoSuchFile:
		e.Code = fetch.ErrNotFound
	case filexfer.CodePermissionDenied, filexfer.CodeUnsupported:
		e.Code = fetch.ErrRefused
	case filexfer.CodeNoConnection, filexfer.CodeConnectionLost:
		e.Code, e.Retry = fetch.ErrNetwork, true
	case filexfer.CodeOK, filexfer.CodeEOF, filexfer.CodeBadMessage:
		e.Code = fetch.ErrProtocol
	}
	return e
}

// truncated returns the error for a listing that was cut short by a lost connection. Other errors are
// returned unchanged.
func truncated(err error) error {
	if !errors.Is(err, errLost) {
		return err
	}
	return remotefile.Truncated(err, 0, -1)
}
