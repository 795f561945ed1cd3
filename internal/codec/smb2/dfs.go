package smb2

import (
	"bytes"
	"fmt"
)

// CapDFS is a capability of servers with DFS namespaces, SMB2_GLOBAL_CAP_DFS.
const CapDFS = 1 << 0

// FsctlDFSGetReferrals is the control code for the servers of a path in a DFS namespace (section
// 2.2.31). Its FileID is [NoFile].
const FsctlDFSGetReferrals = 0x00060194 // FSCTL_DFS_GET_REFERRALS

// NoFile is the FileID of requests that do not concern a file.
var NoFile = FileID{Persistent: 1<<64 - 1, Volatile: 1<<64 - 1}

// A Referral says where the files below a path are ([MS-DFSC], section 2.2.4).
type Referral struct {
	Consumed int      // bytes of the path, as UTF-16, that a target replaces
	Targets  []string // such as `\server\share\dir`, in order of preference
}

const (
	maxReferralVersion = 4
	maxTargets         = 32 // in a referral
	// nameList is the flag of an entry with names of domain controllers in place of a target.
	nameList = 1 << 1 // NameListReferral
)

// ReferralRequest returns a REQ_GET_DFS_REFERRAL for a path such as `\server\share\dir` ([MS-DFSC],
// section 2.2.2).
func ReferralRequest(path string) []byte {
	return append(append(le.AppendUint16(nil, maxReferralVersion), UTF16(path)...), 0, 0)
}

// ParseReferral parses a RESP_GET_DFS_REFERRAL.
func ParseReferral(b []byte) (Referral, error) {
	if len(b) < 8 {
		return Referral{}, fmt.Errorf("%w: truncated referral", ErrMalformed)
	}
	r := Referral{Consumed: int(le.Uint16(b))}
	entries := b[8:]
	for range min(int(le.Uint16(b[2:])), maxTargets) {
		target, size, err := parseTarget(entries)
		if err != nil {
			return Referral{}, err
		}
		if target != "" {
			r.Targets = append(r.Targets, target)
		}
		entries = entries[size:]
	}
	return r, nil
}

// parseTarget parses a DFS_REFERRAL entry of version 1 to 4 ([MS-DFSC], section 2.2.5) at the
// beginning of b, which extends to the end of the message, because texts follow the entries. The
// target of a name list is "".
func parseTarget(b []byte) (target string, size int, err error) {
	if len(b) < 8 {
		return "", 0, fmt.Errorf("%w: truncated referral entry", ErrMalformed)
	}
	version, size, flags := le.Uint16(b), int(le.Uint16(b[2:])), le.Uint16(b[6:])
	field := 0 // where the offset of the target is
	switch version {
	case 1:
	case 2:
		field = 20
	case 3, 4:
		field = 16
	default:
		return "", 0, fmt.Errorf("%w: referral entry of version %d", ErrMalformed, version)
	}
	if size < max(8, field+2) || size > len(b) {
		return "", 0, fmt.Errorf("%w: referral entry of %d bytes", ErrMalformed, size)
	}
	if version >= 3 && flags&nameList != 0 {
		return "", size, nil
	}
	at := 8
	if version > 1 {
		at = int(le.Uint16(b[field:]))
	}
	if at > len(b) {
		return "", 0, fmt.Errorf("%w: invalid offset of a referral target", ErrMalformed)
	}
	for i := at; i+1 < len(b); i += 2 {
		if bytes.Equal(b[i:i+2], []byte{0, 0}) {
			return Name(b[at:i]), size, nil
		}
	}
	return "", 0, fmt.Errorf("%w: unterminated referral target", ErrMalformed)
}

// ReferralPath returns the path of a ReferralRequest, for test servers.
func ReferralPath(b []byte) string {
	if len(b) < 4 {
		return ""
	}
	return Name(b[2 : len(b)-2])
}

// Append appends a RESP_GET_DFS_REFERRAL with entries of version 3 to b, for test servers.
func (r Referral) Append(b []byte) []byte {
	const entrySize = 34
	b = le.AppendUint16(b, uint16(r.Consumed))
	b = le.AppendUint16(b, uint16(len(r.Targets)))
	b = le.AppendUint32(b, 1<<1) // the targets have the files
	var texts []byte
	for i, target := range r.Targets {
		offset := (len(r.Targets)-i)*entrySize + len(texts)
		b = append(le.AppendUint16(b, 3), entrySize, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		for range 3 { // of the path, of the alternative path, and of the target
			b = le.AppendUint16(b, uint16(offset))
		}
		b = append(b, make([]byte, 16)...)
		texts = append(append(texts, UTF16(target)...), 0, 0)
	}
	return append(b, texts...)
}
