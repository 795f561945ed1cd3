package sftp

import (
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// errNotDirectory is the error for listing a file.
var errNotDirectory = fmt.Errorf("not a directory: %w", errors.ErrUnsupported)

// violation returns the error for a server that violates the protocol.
func violation(format string, args ...any) error {
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf(format, args...)}
}

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

// truncated returns the error for content that was cut short by a lost connection. Other errors are
// returned unchanged.
func truncated(err error, got, want int64) error {
	var e *fetch.Error
	if !errors.Is(err, errLost) || !errors.As(err, &e) {
		return err
	}
	return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: fmt.Errorf("after %s: %w", progress(got, want), e.Err)}
}

func progress(got, want int64) string {
	if want < 0 {
		return fmt.Sprintf("%d bytes", got)
	}
	return fmt.Sprintf("%d of %d bytes", got, want)
}
