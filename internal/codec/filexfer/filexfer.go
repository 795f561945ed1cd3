// Package filexfer implements the messages of the SSH File Transfer Protocol, version 3
// (draft-ietf-secsh-filexfer-02), that are needed to read files and directories.
package filexfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// Version is the protocol version. Servers commonly support no later one.
const Version = 3

// MaxMessage limits the size of a message, in bytes, without the length field. The draft requires
// support for 34000 bytes, but servers send longer NAME responses.
const MaxMessage = 256 << 10

// MaxData limits the data of one READ, in bytes. Every server supports reads of this size (section
// 3 of the draft).
const MaxData = 32 << 10

// A Type is a message type (section 3).
type Type byte

// The message types.
const (
	TypeInit     Type = 1   // SSH_FXP_INIT
	TypeVersion  Type = 2   // SSH_FXP_VERSION
	TypeOpen     Type = 3   // SSH_FXP_OPEN
	TypeClose    Type = 4   // SSH_FXP_CLOSE
	TypeRead     Type = 5   // SSH_FXP_READ
	TypeLstat    Type = 7   // SSH_FXP_LSTAT
	TypeFstat    Type = 8   // SSH_FXP_FSTAT
	TypeOpendir  Type = 11  // SSH_FXP_OPENDIR
	TypeReaddir  Type = 12  // SSH_FXP_READDIR
	TypeRealpath Type = 16  // SSH_FXP_REALPATH
	TypeStat     Type = 17  // SSH_FXP_STAT
	TypeReadlink Type = 19  // SSH_FXP_READLINK
	TypeStatus   Type = 101 // SSH_FXP_STATUS
	TypeHandle   Type = 102 // SSH_FXP_HANDLE
	TypeData     Type = 103 // SSH_FXP_DATA
	TypeName     Type = 104 // SSH_FXP_NAME
	TypeAttrs    Type = 105 // SSH_FXP_ATTRS

	TypeExtended      Type = 200 // SSH_FXP_EXTENDED
	TypeExtendedReply Type = 201 // SSH_FXP_EXTENDED_REPLY
)

var typeNames = [...]string{
	TypeInit: "INIT", TypeVersion: "VERSION", TypeOpen: "OPEN", TypeClose: "CLOSE", TypeRead: "READ",
	TypeLstat: "LSTAT", TypeFstat: "FSTAT", TypeOpendir: "OPENDIR", TypeReaddir: "READDIR",
	TypeRealpath: "REALPATH", TypeStat: "STAT", TypeReadlink: "READLINK", TypeStatus: "STATUS",
	TypeHandle: "HANDLE", TypeData: "DATA", TypeName: "NAME", TypeAttrs: "ATTRS",
	TypeExtended: "EXTENDED", TypeExtendedReply: "EXTENDED_REPLY",
}

// String returns the name of the type in the draft, without the prefix SSH_FXP_.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("message type %d", byte(t))
}

// FlagRead is the flag of TypeOpen that opens a file for reading (section 6.3).
const FlagRead uint32 = 1 // SSH_FXF_READ

// A Code is the error or status code of a TypeStatus response (section 7).
type Code uint32

// The status codes.
const (
	CodeOK               Code = 0 // SSH_FX_OK
	CodeEOF              Code = 1 // SSH_FX_EOF
	CodeNoSuchFile       Code = 2 // SSH_FX_NO_SUCH_FILE
	CodePermissionDenied Code = 3 // SSH_FX_PERMISSION_DENIED
	CodeFailure          Code = 4 // SSH_FX_FAILURE
	CodeBadMessage       Code = 5 // SSH_FX_BAD_MESSAGE
	CodeNoConnection     Code = 6 // SSH_FX_NO_CONNECTION
	CodeConnectionLost   Code = 7 // SSH_FX_CONNECTION_LOST
	CodeOpUnsupported    Code = 8 // SSH_FX_OP_UNSUPPORTED
)

// A Message is a message with its type and request identifier parsed. TypeInit and TypeVersion have
// the protocol version instead of the identifier.
type Message struct {
	Type    Type
	ID      uint32 // request identifier, or the version in TypeInit and TypeVersion
	Payload []byte // the unparsed fields
}

// ErrMalformed is matched by the errors of Read and Fields for malformed messages.
var ErrMalformed = errors.New("malformed SFTP message")

// Read reads a message from r. It calls alloc for a buffer of n bytes that holds the fields. The
// error is io.EOF only if r ends before the message.
func Read(r io.Reader, alloc func(int) []byte) (Message, error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return Message{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 5 || size > MaxMessage {
		return Message{}, fmt.Errorf("%w: invalid length %d", ErrMalformed, size)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return Message{}, wire.Unexpected(err)
	}
	m := Message{Type: Type(head[4]), ID: binary.BigEndian.Uint32(head[5:]), Payload: alloc(int(size) - 5)}
	if _, err := io.ReadFull(r, m.Payload); err != nil {
		return Message{}, wire.Unexpected(err)
	}
	return m, nil
}

// Append appends a message to b. It panics if a field is not a uint32, uint64, string, []byte or
// Attrs.
func Append(b []byte, t Type, id uint32, fields ...any) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, byte(t))
	b = binary.BigEndian.AppendUint32(b, id)
	for _, f := range fields {
		switch f := f.(type) {
		case uint32:
			b = binary.BigEndian.AppendUint32(b, f)
		case uint64:
			b = binary.BigEndian.AppendUint64(b, f)
		case string:
			b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
			b = append(b, f...)
		case []byte:
			b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
			b = append(b, f...)
		case Attrs:
			b = f.append(b)
		default:
			panic(fmt.Sprintf("filexfer: field of type %T", f))
		}
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// Fields reads the fields of a message in order. After an error, its methods return zero values.
type Fields struct {
	rest []byte
	err  error
}

// Fields returns a reader of the fields of m.
func (m Message) Fields() *Fields { return &Fields{rest: m.Payload} }

// Err returns the first error, or nil.
func (f *Fields) Err() error { return f.err }

// More reports whether unread bytes remain.
func (f *Fields) More() bool { return f.err == nil && len(f.rest) > 0 }

func (f *Fields) next(n uint64) []byte {
	if f.err != nil {
		return nil
	}
	if n > uint64(len(f.rest)) {
		f.err = fmt.Errorf("%w: truncated field", ErrMalformed)
		f.rest = nil
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

// Uint32 reads a four-byte number.
func (f *Fields) Uint32() uint32 {
	if b := f.next(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads an eight-byte number.
func (f *Fields) Uint64() uint64 {
	if b := f.next(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bytes reads a string. The result aliases the message.
func (f *Fields) Bytes() []byte { return f.next(uint64(f.Uint32())) }

// Text reads a string and returns a copy.
func (f *Fields) Text() string { return string(f.Bytes()) }

// Rest reads all remaining bytes. The result aliases the message.
func (f *Fields) Rest() []byte { return f.next(uint64(len(f.rest))) }

// The flags of Attrs (section 5).
const (
	AttrSize        uint32 = 1          // SSH_FILEXFER_ATTR_SIZE
	AttrUIDGID      uint32 = 2          // SSH_FILEXFER_ATTR_UIDGID
	AttrPermissions uint32 = 4          // SSH_FILEXFER_ATTR_PERMISSIONS
	AttrACModTime   uint32 = 8          // SSH_FILEXFER_ATTR_ACMODTIME
	attrExtended    uint32 = 0x80000000 // SSH_FILEXFER_ATTR_EXTENDED
)

// Attrs are the attributes of a file (section 5).
type Attrs struct {
	Flags        uint32 // the valid fields: AttrSize, AttrUIDGID, …
	Size         uint64 // in bytes
	UID, GID     uint32
	Mode         uint32 // POSIX mode, including the file type
	ATime, MTime uint32 // seconds since 1970
}

// Has reports whether the attributes for flag are valid.
func (a Attrs) Has(flag uint32) bool { return a.Flags&flag != 0 }

// Attrs reads file attributes. It skips extended attributes.
func (f *Fields) Attrs() Attrs {
	a := Attrs{Flags: f.Uint32()}
	if a.Has(AttrSize) {
		a.Size = f.Uint64()
	}
	if a.Has(AttrUIDGID) {
		a.UID, a.GID = f.Uint32(), f.Uint32()
	}
	if a.Has(AttrPermissions) {
		a.Mode = f.Uint32()
	}
	if a.Has(AttrACModTime) {
		a.ATime, a.MTime = f.Uint32(), f.Uint32()
	}
	if a.Has(attrExtended) {
		for n := f.Uint32(); n > 0 && f.err == nil; n-- {
			f.Bytes()
			f.Bytes()
		}
	}
	a.Flags &^= attrExtended
	if f.err != nil {
		return Attrs{}
	}
	return a
}

func (a Attrs) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, a.Flags)
	if a.Has(AttrSize) {
		b = binary.BigEndian.AppendUint64(b, a.Size)
	}
	if a.Has(AttrUIDGID) {
		b = binary.BigEndian.AppendUint32(b, a.UID)
		b = binary.BigEndian.AppendUint32(b, a.GID)
	}
	if a.Has(AttrPermissions) {
		b = binary.BigEndian.AppendUint32(b, a.Mode)
	}
	if a.Has(AttrACModTime) {
		b = binary.BigEndian.AppendUint32(b, a.ATime)
		b = binary.BigEndian.AppendUint32(b, a.MTime)
	}
	return b
}

// SetLongMode sets the mode from the first field of a line in the format of ls -l, "drwxr-xr-x". It
// has no effect on lines without one.
func (a *Attrs) SetLongMode(long string) {
	const bits = "rwxrwxrwx"
	types := map[byte]uint32{'-': ModeRegular, 'd': ModeDir, 'l': ModeLink, 'p': ModeFIFO,
		'c': ModeCharDevice, 'b': ModeBlockDevice, 's': ModeSocket}
	if len(long) < 1+len(bits) || types[long[0]] == 0 {
		return
	}
	mode := types[long[0]]
	for i := range len(bits) {
		switch c := long[1+i]; {
		case c == bits[i] || i%3 == 2 && (c == 's' || c == 't'):
			mode |= 0o400 >> i
		case c != '-' && c != 'S' && c != 'T':
			return
		}
	}
	a.Flags, a.Mode = a.Flags|AttrPermissions, mode
}

// ModTime returns the modification time, or the zero time if it is unknown.
func (a Attrs) ModTime() time.Time {
	if !a.Has(AttrACModTime) {
		return time.Time{}
	}
	return time.Unix(int64(a.MTime), 0).UTC()
}

// The file type and the special bits of a POSIX mode.
const (
	ModeType        = 0o170000 // S_IFMT
	ModeFIFO        = 0o010000 // S_IFIFO
	ModeCharDevice  = 0o020000 // S_IFCHR
	ModeDir         = 0o040000 // S_IFDIR
	ModeBlockDevice = 0o060000 // S_IFBLK
	ModeRegular     = 0o100000 // S_IFREG
	ModeLink        = 0o120000 // S_IFLNK
	ModeSocket      = 0o140000 // S_IFSOCK

	modeSetUID = 0o4000 // S_ISUID
	modeSetGID = 0o2000 // S_ISGID
	modeSticky = 0o1000 // S_ISVTX
)

// FileMode converts the mode. Unknown and missing file types become fs.ModeIrregular.
func (a Attrs) FileMode() fs.FileMode {
	mode := fs.FileMode(a.Mode & 0o777)
	for i, bit := range [...]uint32{modeSetUID, modeSetGID, modeSticky} {
		if a.Mode&bit != 0 {
			mode |= [...]fs.FileMode{fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky}[i]
		}
	}
	switch a.Mode & ModeType {
	case ModeRegular:
		return mode
	case ModeFIFO:
		return mode | fs.ModeNamedPipe
	case ModeCharDevice:
		return mode | fs.ModeDevice | fs.ModeCharDevice
	case ModeDir:
		return mode | fs.ModeDir
	case ModeBlockDevice:
		return mode | fs.ModeDevice
	case ModeLink:
		return mode | fs.ModeSymlink
	case ModeSocket:
		return mode | fs.ModeSocket
	}
	return mode | fs.ModeIrregular
}

// A File is one file in a NAME response (section 7).
type File struct {
	Name  string
	Long  string // a line in the format of ls -l
	Attrs Attrs
}

// Files reads the list of files in a TypeName message.
func (f *Fields) Files() []File {
	n := f.Uint32()
	if uint64(n) > uint64(len(f.rest))/12 { // two lengths and the flags
		if f.err == nil {
			f.err = fmt.Errorf("%w: %d names announced in a shorter message", ErrMalformed, n)
		}
		return nil
	}
	files := make([]File, 0, n)
	for ; n > 0 && f.err == nil; n-- {
		files = append(files, File{Name: f.Text(), Long: f.Text(), Attrs: f.Attrs()})
	}
	if f.err != nil {
		return nil
	}
	return files
}
