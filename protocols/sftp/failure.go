package sftp

import (
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// statusError returns the error for a STATUS response (section 7 of the draft).
func statusError(t filexfer.Type, code filexfer.Code, text string) error {
	e := &fetch.Error{Code: fetch.ErrServer, Err: errors.New(t.String()),
		Reply: fetch.Reply{Code: int(code), Text: text}}
	switch code {
	case filexfer.CodeNoSuchFile:
		e.Code = fetch.ErrNotFound
	case filexfer.CodePermissionDenied, filexfer.CodeOpUnsupported:
		e.Code = fetch.ErrRefused
	case filexfer.CodeNoConnection, filexfer.CodeConnectionLost:
		e.Code, e.Retry = fetch.ErrNetwork, true
	case filexfer.CodeOK, filexfer.CodeEOF, filexfer.CodeBadMessage:
		e.Code = fetch.ErrProtocol
	}
	return e
}
