package job

import "github.com/urlget/urlget/fetch"

// ExitStatus returns the exit status of the command for a class of errors. It returns 0 for
// fetch.ErrNotModified, which is not a failure.
func ExitStatus(class fetch.Code) int {
	switch class {
	case fetch.ErrNotModified:
		return 0
	case fetch.ErrURL, fetch.ErrRequest, fetch.ErrNoServer:
		return 2
	case fetch.ErrFile:
		return 3
	case fetch.ErrNetwork:
		return 4
	case fetch.ErrTLS:
		return 5
	case fetch.ErrAuth:
		return 6
	case fetch.ErrProtocol, fetch.ErrRedirect:
		return 7
	case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrBusy, fetch.ErrServer, fetch.ErrRange:
		return 8
	case fetch.ErrScheme, fetch.ErrNotRetrievable, fetch.ErrInteractive, fetch.ErrNeedSearch,
		fetch.ErrNeedForm:
		return 16
	case fetch.ErrPolicy:
		return 17
	case fetch.ErrTruncated, fetch.ErrChanged, fetch.ErrChecksum, fetch.ErrTooLarge:
		return 18
	case fetch.ErrInterrupted:
		return 130
	}
	return 1
}
