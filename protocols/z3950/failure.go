package z3950

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

var errRejected = errors.New("the server rejected the session")

// rejection returns the error of a session that the server rejects for the given reasons. A login helps
// only if it wraps errRejected.
func rejection(reasons []codec.Diagnostic) error {
	var texts []string
	busy := false
	for _, d := range reasons {
		texts = append(texts, d.String())
		busy = busy || errors.Is(diagnosticsError([]codec.Diagnostic{d}), fetch.ErrBusy)
	}
	e := &fetch.Error{Code: fetch.ErrAuth, Err: errRejected,
		Reply: fetch.Reply{Text: wire.Text(strings.Join(texts, "; "))}}
	if busy {
		e.Code, e.Retry, e.Err = fetch.ErrBusy, true, errors.New(errRejected.Error())
	}
	return e
}

// maskText removes the password from texts that are not errors: servers may repeat it.
func (s *session) maskText(text string) string {
	if s.password == "" {
		return text
	}
	return strings.ReplaceAll(text, s.password, "****")
}

// A diagnosticError is the cause of an error whose Reply has the diagnostic's text.
type diagnosticError struct {
	d           codec.Diagnostic
	explanation string // an explanation in addition to the diagnostic, or ""
}

func (e diagnosticError) Error() string { return e.explanation }

// withExplanation returns a copy of err with an explanation, or nil if err is not for a diagnostic.
func withExplanation(err error, format string, args ...any) *fetch.Error {
	var (
		e *fetch.Error
		r diagnosticError
	)
	if !errors.As(err, &e) || !errors.As(err, &r) {
		return nil
	}
	dup := *e
	dup.Err = diagnosticError{r.d, fmt.Sprintf(format, args...)}
	return &dup
}

// diagnosticsError returns the error for a list of diagnostics. The first one determines the code.
func diagnosticsError(list []codec.Diagnostic) error {
	d := list[0]
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: wire.Text(d.String())},
		Err: diagnosticError{d: d}}
	if d.Set != codec.DiagBib1 && d.Set != "" {
		return e
	}
	switch d.Code {
	case codec.TemporaryError, codec.ResultSetInUse, codec.DatabaseLocked, codec.NoResources,
		codec.PartialResources,
		codec.SubsetResources, codec.NoSession, codec.OutOfResources, codec.InMaintenance,
		codec.LoginOutOfService, codec.RecordLocked:
		e.Code, e.Retry = fetch.ErrBusy, true
	case codec.NoDatabase, codec.UnknownDatabase, codec.OutOfRange, codec.RecordDeleted,
		codec.NotInSyntax, codec.BadSyntax, codec.NoData, codec.BadElementSet, codec.NoElementSets:
		e.Code = fetch.ErrNotFound
	case codec.BadUser, codec.BadPassword, codec.WrongInterface, codec.NoUserDatabases, codec.AccountExpired,
		codec.PasswordExpired, codec.PasswordChanged:
		e.Code = fetch.ErrAuth
	case codec.RecordNotAuthorized, codec.DatabaseDenied, codec.AccessFailure, codec.NoSearchesLeft,
		codec.BlockedAddress:
		e.Code = fetch.ErrRefused
	case codec.RecordTooLarge:
		e.Code = fetch.ErrTooLarge
	case codec.PermanentError, codec.PresentSystemError, codec.UnspecifiedError, codec.AuthSystemError:
	default:
		if d.Code >= 3 && d.Code < 300 || d.Code == codec.BadAttribute || d.Code == codec.NoService {
			e.Code = fetch.ErrRefused // the server does not support the search
		}
	}
	return e
}

// diagnosticOf returns the Bib-1 code of the diagnostic that caused err, or 0.
func diagnosticOf(err error) int64 {
	var r diagnosticError
	if errors.As(err, &r) && (r.d.Set == codec.DiagBib1 || r.d.Set == "") {
		return r.d.Code
	}
	return 0
}

func isAttributeError(err error) bool {
	code := diagnosticOf(err)
	return code >= codec.BadAttributeType && code <= 127 || code == codec.BadAttribute
}

func isSyntaxError(err error) bool {
	switch diagnosticOf(err) {
	case codec.NotInSyntax, codec.BadSyntax, codec.NoData, codec.NoAbstractSyntax:
		return true
	}
	return false
}

func isElementSetError(err error) bool {
	code := diagnosticOf(err)
	return code == codec.NoElementSets || code == codec.BadElementSet
}

// readError returns the error for a message that could not be read. io.EOF is unexpected here.
func readError(err error) error {
	if errors.Is(err, ber.ErrMalformed) {
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return wire.Unexpected(err)
}

// contentError is like readError, for an error while the content of a record is read.
func contentError(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fetch.ErrTruncated.Retryf("connection closed within the response: %w", io.ErrUnexpectedEOF)
	}
	return readError(err)
}

func closeError(m codec.Close) error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: wire.Text(m.String())},
		Err: errors.New("the server closed the session")}
	switch m.Reason {
	case codec.CloseFinished, codec.CloseShutdown, codec.CloseResources, codec.CloseLackOfActivity:
		e.Code, e.Retry = fetch.ErrBusy, true
	case codec.CloseSecurityViolation:
		e.Code = fetch.ErrRefused
	}
	return e
}
