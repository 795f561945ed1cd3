package smb

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// The error matches remotefile.ErrLost if the server closed the connection.
func connError(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return fetch.ErrNetwork.Retryf("%w: closed by the server", remotefile.ErrLost)
		}
	}
	return err
}

// Errors that lead to a referral if the server has a DFS namespace.
var (
	errNoShare   = errors.New("no such share")
	errElsewhere = errors.New("the files are on another server, which the server does not name")
)

// errAccount is the error of logins that no other password would change.
var errAccount = errors.New("the account cannot be used")

func statusError(c smb2.Command, s smb2.Status) error {
	e := &fetch.Error{Code: fetch.ErrServer, Err: errors.New(c.String()),
		Reply: fetch.Reply{Text: s.String()}}
	switch s {
	case smb2.StatusNoSuchFile, smb2.StatusObjectNameNotFound, smb2.StatusObjectPathNotFound,
		smb2.StatusObjectNameInvalid, smb2.StatusObjectPathSyntaxBad,
		smb2.StatusNotADirectory:
		e.Code, e.Err = fetch.ErrNotFound, nil
	case smb2.StatusBadNetworkName, smb2.StatusBadNetworkPath:
		e.Code, e.Err, e.Hint = fetch.ErrNotFound, errNoShare,
			"use the URL of the host without a path to list the shares"
	case smb2.StatusAccessDenied, smb2.StatusFileLockConflict, smb2.StatusNotSupported:
		e.Code = fetch.ErrRefused
	case smb2.StatusStoppedOnSymlink:
		e.Code, e.Err = fetch.ErrRefused, errors.New("symbolic links are not followed")
	case smb2.StatusPathNotCovered:
		e.Code, e.Err = fetch.ErrRefused, errElsewhere
	case smb2.StatusSharingViolation, smb2.StatusInsufficientResources, smb2.StatusRequestNotAccepted:
		e.Code, e.Retry = fetch.ErrBusy, true
	case smb2.StatusLogonFailure, smb2.StatusNoSuchUser, smb2.StatusWrongPassword:
		e.Code = fetch.ErrAuth
	case smb2.StatusAccountRestriction, smb2.StatusPasswordExpired, smb2.StatusPasswordMustChange,
		smb2.StatusAccountExpired, smb2.StatusAccountDisabled, smb2.StatusAccountLockedOut,
		smb2.StatusLogonTypeNotGranted:
		e.Code, e.Err = fetch.ErrAuth, errAccount
	case smb2.StatusUserSessionDeleted, smb2.StatusNetworkSessionExpired, smb2.StatusNetworkNameDeleted:
		e.Code, e.Retry, e.Err = fetch.ErrNetwork, true,
			fmt.Errorf("%w: the server ended the session", remotefile.ErrLost)
	case smb2.StatusSuccess, smb2.StatusMoreProcessingRequired, smb2.StatusPending:
		e.Code = fetch.ErrProtocol
	}
	return e
}
