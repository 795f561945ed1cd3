// Package smb2 implements the parts of SMB 2 and 3 ([MS-SMB2]) that are needed to read files and
// directories: message headers and bodies, signing, encryption and names. It also has NTLM
// authentication ([MS-NLMP]) in SPNEGO (RFC 4178) and the enumeration of shares ([MS-SRVS]). The
// driver and its test server use it.
package smb2

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// HeaderSize is the size of a message header, in bytes.
const HeaderSize = 64

// A Command is the command code of a message.
type Command uint16

// The command codes up to QUERY_DIRECTORY ([MS-SMB2], section 2.2.1).
const (
	Negotiate Command = iota
	SessionSetup
	Logoff
	TreeConnect
	TreeDisconnect
	Create
	Close
	Flush
	Read
	Write
	Lock
	Ioctl
	Cancel
	Echo
	QueryDirectory
)

// String returns the name of the command in the specification.
func (c Command) String() string {
	names := [...]string{"NEGOTIATE", "SESSION_SETUP", "LOGOFF", "TREE_CONNECT", "TREE_DISCONNECT",
		"CREATE", "CLOSE", "FLUSH",
		"READ", "WRITE", "LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("command %d", uint16(c))
}

// Offsets of header fields, in bytes.
const (
	headerCharge      = 6
	headerStatus      = 8
	headerCommand     = 12
	headerCredits     = 14
	headerFlags       = 16
	headerNextCommand = 20
	headerMessageID   = 24
	headerTreeID      = 36
	headerSessionID   = 40
	headerSignature   = 48
)

// UnsolicitedMessageID is the MessageID of an oplock break notification ([MS-SMB2], section 2.2.23.1).
const UnsolicitedMessageID = 0xFFFFFFFFFFFFFFFF

// Header flags.
const (
	FlagServerToRedir = 1 << 0 // SMB2_FLAGS_SERVER_TO_REDIR
	FlagAsyncCommand  = 1 << 1 // SMB2_FLAGS_ASYNC_COMMAND
	FlagSigned        = 1 << 3 // SMB2_FLAGS_SIGNED
)

// The dialect revisions ([MS-SMB2], section 2.2.3).
const (
	Dialect202 = 0x0202
	Dialect210 = 0x0210
	Dialect300 = 0x0300
	Dialect302 = 0x0302
	Dialect311 = 0x0311
)

// File attributes ([MS-FSCC], section 2.6).
const (
	AttributeReadonly  = 1 << 0 // FILE_ATTRIBUTE_READONLY
	AttributeHidden    = 1 << 1 // FILE_ATTRIBUTE_HIDDEN
	AttributeSystem    = 1 << 2 // FILE_ATTRIBUTE_SYSTEM
	AttributeDirectory = 1 << 4 // FILE_ATTRIBUTE_DIRECTORY
	AttributeArchive   = 1 << 5 // FILE_ATTRIBUTE_ARCHIVE
)

// A Header begins every message ([MS-SMB2], section 2.2.1).
type Header struct {
	Charge    uint16 // CreditCharge: the credits that the request costs
	Status    Status
	Command   Command
	Credits   uint16 // CreditRequest or CreditResponse
	Flags     uint32
	MessageID uint64
	TreeID    uint32
	SessionID uint64
}

// Append appends the header with an empty signature.
func (h Header) Append(b []byte) []byte {
	b = append(b, 0xfe, 'S', 'M', 'B', HeaderSize, 0)
	b = le.AppendUint16(b, h.Charge)
	b = le.AppendUint32(b, uint32(h.Status))
	b = le.AppendUint16(b, uint16(h.Command))
	b = le.AppendUint16(b, h.Credits)
	b = le.AppendUint32(b, h.Flags)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, h.MessageID)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, h.TreeID)
	b = le.AppendUint64(b, h.SessionID)
	return append(b, make([]byte, 16)...)
}

// ErrMalformed is matched by the errors of this package for malformed messages.
var ErrMalformed = errors.New("malformed message")

// ParseHeader parses the header of a message. Compound messages are an error.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize || string(b[:4]) != "\xfeSMB" || b[4] != HeaderSize || b[5] != 0 {
		return Header{}, ErrMalformed
	}
	if le.Uint32(b[headerNextCommand:]) != 0 {
		return Header{}, fmt.Errorf("%w: unexpected compound response", ErrMalformed)
	}
	return Header{Charge: le.Uint16(b[headerCharge:]), Status: Status(le.Uint32(b[headerStatus:])),
		Command: Command(le.Uint16(b[headerCommand:])),
		Credits: le.Uint16(b[headerCredits:]), Flags: le.Uint32(b[headerFlags:]),
		MessageID: le.Uint64(b[headerMessageID:]),
		TreeID:    le.Uint32(b[headerTreeID:]), SessionID: le.Uint64(b[headerSessionID:])}, nil
}

// epoch is the epoch of FILETIME, 1601-01-01 00:00 UTC, in Unix time. A FILETIME counts 100 ns units.
const epoch = -11644473600

// Time converts a FILETIME. The result is the zero time if t is 0 or out of range.
func Time(t uint64) time.Time {
	if t == 0 || t > 1<<63-1 {
		return time.Time{}
	}
	return time.Unix(int64(t/1e7)+epoch, int64(t%1e7)*100).UTC()
}

// FileTime converts t to a FILETIME. The zero time becomes 0.
func FileTime(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.Unix()-epoch)*1e7 + uint64(t.Nanosecond())/100
}

// AppendUTF16 appends text, encoded as UTF-16LE. It accepts unpaired surrogates in the encoding of
// Name, because file names may have them. It returns false for any other invalid UTF-8.
func AppendUTF16(b []byte, text string) ([]byte, bool) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			if !isSurrogate(text[i:]) {
				return nil, false
			}
			r, n = 0xd000|rune(text[i+1]&0x3f)<<6|rune(text[i+2]&0x3f), 3
			b = le.AppendUint16(b, uint16(r))
		case r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			b = le.AppendUint16(le.AppendUint16(b, uint16(hi)), uint16(lo))
		default:
			b = le.AppendUint16(b, uint16(r))
		}
		i += n
	}
	return b, true
}

// isSurrogate reports whether s begins with a surrogate in the encoding of Name.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80
}

// UTF16 returns valid text, encoded as UTF-16LE.
func UTF16(text string) []byte {
	b, _ := AppendUTF16(nil, text)
	return b
}

// Name decodes b, which is UTF-16LE. An unpaired surrogate becomes three bytes (WTF-8), so that
// AppendUTF16 restores every name.
func Name(b []byte) string {
	var out []byte
	for ; len(b) >= 2; b = b[2:] {
		r := rune(le.Uint16(b))
		if utf16.IsSurrogate(r) {
			if len(b) >= 4 {
				if whole := utf16.DecodeRune(r, rune(le.Uint16(b[2:]))); whole != utf8.RuneError {
					out = utf8.AppendRune(out, whole)
					b = b[2:]
					continue
				}
			}
			out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
