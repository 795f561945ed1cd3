package smb2

import (
	"cmp"
	"fmt"
)

// A Status is the NTSTATUS of a response ([MS-ERREF], section 2.3).
type Status uint32

// The status codes that the driver and its test server use, named as in the specification without
// the prefix STATUS_.
const (
	StatusSuccess                Status = 0
	StatusPending                Status = 0x00000103
	StatusMoreProcessingRequired Status = 0xC0000016
	StatusBufferOverflow         Status = 0x80000005
	StatusNoMoreFiles            Status = 0x80000006
	StatusStoppedOnSymlink       Status = 0x8000002D
	StatusInvalidParameter       Status = 0xC000000D
	StatusNoSuchFile             Status = 0xC000000F
	StatusEndOfFile              Status = 0xC0000011
	StatusAccessDenied           Status = 0xC0000022
	StatusObjectNameInvalid      Status = 0xC0000033
	StatusObjectNameNotFound     Status = 0xC0000034
	StatusObjectPathNotFound     Status = 0xC000003A
	StatusObjectPathSyntaxBad    Status = 0xC000003B
	StatusSharingViolation       Status = 0xC0000043
	StatusFileLockConflict       Status = 0xC0000054
	StatusNoSuchUser             Status = 0xC0000064
	StatusWrongPassword          Status = 0xC000006A
	StatusLogonFailure           Status = 0xC000006D
	StatusAccountRestriction     Status = 0xC000006E
	StatusPasswordExpired        Status = 0xC0000071
	StatusAccountDisabled        Status = 0xC0000072
	StatusInsufficientResources  Status = 0xC000009A
	StatusNotSupported           Status = 0xC00000BB
	StatusBadNetworkPath         Status = 0xC00000BE
	StatusNetworkNameDeleted     Status = 0xC00000C9
	StatusBadNetworkName         Status = 0xC00000CC
	StatusRequestNotAccepted     Status = 0xC00000D0
	StatusNotADirectory          Status = 0xC0000103
	StatusLogonTypeNotGranted    Status = 0xC000015B
	StatusAccountExpired         Status = 0xC0000193
	StatusUserSessionDeleted     Status = 0xC0000203
	StatusPasswordMustChange     Status = 0xC0000224
	StatusAccountLockedOut       Status = 0xC0000234
	StatusNotFound               Status = 0xC0000225
	StatusPathNotCovered         Status = 0xC0000257
	StatusNetworkSessionExpired  Status = 0xC000035C
	StatusUnexpectedIOError      Status = 0xC00000E9
)

var statusNames = map[Status]string{
	StatusSuccess:            "STATUS_SUCCESS",
	StatusStoppedOnSymlink:   "STATUS_STOPPED_ON_SYMLINK",
	StatusInvalidParameter:   "STATUS_INVALID_PARAMETER",
	StatusNoSuchFile:         "STATUS_NO_SUCH_FILE",
	StatusEndOfFile:          "STATUS_END_OF_FILE",
	StatusAccessDenied:       "STATUS_ACCESS_DENIED",
	StatusObjectNameInvalid:  "STATUS_OBJECT_NAME_INVALID",
	StatusObjectNameNotFound: "STATUS_OBJECT_NAME_NOT_FOUND",
	StatusObjectPathNotFound: "STATUS_OBJECT_PATH_NOT_FOUND",
	StatusSharingViolation:   "STATUS_SHARING_VIOLATION",
	StatusLogonFailure:       "STATUS_LOGON_FAILURE",
	StatusPasswordExpired:    "STATUS_PASSWORD_EXPIRED",
	StatusAccountDisabled:    "STATUS_ACCOUNT_DISABLED",
	StatusAccountRestriction: "STATUS_ACCOUNT_RESTRICTION",
	StatusAccountExpired:     "STATUS_ACCOUNT_EXPIRED",
	StatusPasswordMustChange: "STATUS_PASSWORD_MUST_CHANGE",
	StatusNoSuchUser:         "STATUS_NO_SUCH_USER",
	StatusWrongPassword:      "STATUS_WRONG_PASSWORD",
	StatusNotSupported:       "STATUS_NOT_SUPPORTED",
	StatusBadNetworkName:     "STATUS_BAD_NETWORK_NAME",
	StatusNotADirectory:      "STATUS_NOT_A_DIRECTORY",
	StatusAccountLockedOut:   "STATUS_ACCOUNT_LOCKED_OUT",
}

// String returns the name of common status codes, otherwise the number.
func (s Status) String() string {
	return cmp.Or(statusNames[s], fmt.Sprintf("status 0x%08X", uint32(s)))
}
