package job

import "github.com/urlget/urlget/fetch"

// The exit statuses that failures stand for.
const (
	ExitOther          = 1
	ExitUsage          = 2
	ExitFile           = 3
	ExitNetwork        = 4
	ExitTLS            = 5
	ExitAuth           = 6
	ExitProtocol       = 7
	ExitRefused        = 8
	ExitNotRetrievable = 16
	ExitPolicy         = 17
	ExitIncomplete     = 18
	ExitInterrupted    = 130
)

// ExitStatus returns the exit status that a failure of a class stands for; 0 for
// fetch.ErrNotModified, which is none.
func ExitStatus(class fetch.Code) int {
	switch class {
	case fetch.ErrNotModified:
		return 0
	case fetch.ErrURL, fetch.ErrRequest, fetch.ErrNoServer:
		return ExitUsage
	case fetch.ErrFile:
		return ExitFile
	case fetch.ErrNetwork:
		return ExitNetwork
	case fetch.ErrTLS:
		return ExitTLS
	case fetch.ErrAuth:
		return ExitAuth
	case fetch.ErrProtocol, fetch.ErrRedirect:
		return ExitProtocol
	case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrBusy, fetch.ErrServer, fetch.ErrRange:
		return ExitRefused
	case fetch.ErrScheme, fetch.ErrNotRetrievable, fetch.ErrInteractive, fetch.ErrNeedSearch, fetch.ErrNeedForm:
		return ExitNotRetrievable
	case fetch.ErrPolicy:
		return ExitPolicy
	case fetch.ErrTruncated, fetch.ErrChanged, fetch.ErrChecksum, fetch.ErrTooLarge:
		return ExitIncomplete
	case fetch.ErrInterrupted:
		return ExitInterrupted
	}
	return ExitOther
}
