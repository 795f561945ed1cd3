// Package filexfer has the messages of the SSH File Transfer Protocol, version 3, as far as reading
// files and directories needs them (draft-ietf-secsh-filexfer-02).
package filexfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Version is the version of the protocol, the only one that is spoken everywhere.
const Version = 3

// MaxMessage bounds a message, in bytes without its length. The draft asks for 34000; servers send
// names in larger ones.
const MaxMessage = 256 << 10

// MaxData is how many bytes may be asked for at once, by the draft's word on what every server
// takes.
const MaxData = 32 << 10

// A Type is the type of a message (section 3).
type Type byte

// The types of messages.
const (
	TypeInit     Type = 1
	TypeVersion  Type = 2
	TypeOpen     Type = 3
	TypeClose    Type = 4
	TypeRead     Type = 5
	TypeLstat    Type = 7
	TypeFstat    Type = 8
	TypeOpendir  Type = 11
	TypeReaddir  Type = 12
	TypeRealpath Type = 16
	TypeStat     Type = 17
	TypeReadlink Type = 19
	TypeStatus   Type = 101
	TypeHandle   Type = 102
	TypeData     Type = 103
	TypeName     Type = 104
	TypeAttrs    Type = 105
)

var typeNames = map[Type]string{
	TypeInit: "INIT", TypeVersion: "VERSION", TypeOpen: "OPEN", TypeClose: "CLOSE", TypeRead: "READ",
	TypeLstat: "LSTAT", TypeFstat: "FSTAT", TypeOpendir: "OPENDIR", TypeReaddir: "READDIR",
	TypeRealpath: "REALPATH", TypeStat: "STAT", TypeReadlink: "READLINK", TypeStatus: "STATUS",
	TypeHandle: "HANDLE", TypeData: "DATA", TypeName: "NAME", TypeAttrs: "ATTRS",
}

// String returns the name of the type in the draft, without its prefix.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("message type %d", byte(t))
}

// OpenRead is the flag of TypeOpen for reading (section 6.3).
const OpenRead uint32 = 1

// A Code says how a request went (section 7).
type Code uint32

// The codes.
const (
	CodeOK               Code = 0
	CodeEOF              Code = 1
	CodeNoSuchFile       Code = 2
	CodePermissionDenied Code = 3
	CodeFailure          Code = 4
	CodeBadMessage       Code = 5
	CodeNoConnection     Code = 6
	CodeConnectionLost   Code = 7
	CodeUnsupported      Code = 8
)

// A Message is one message, of which the length, the type and, save for TypeInit and TypeVersion,
// the identifier of the request were read.
type Message struct {
	Type Type
	ID   uint32 // of the request; in TypeInit and TypeVersion the version
	Rest []byte // what follows
}

// ErrMalformed is matched by the errors of Read and Fields for what is no message.
var ErrMalformed = errors.New("malformed SFTP message")

// Read reads a message from r. The memory for it comes from alloc, which is given the number of
// bytes.
func Read(r io.Reader, alloc func(int) []byte) (Message, error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return Message{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 5 || size > MaxMessage {
		return Message{}, fmt.Errorf("%w: its length is %d", ErrMalformed, size)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return Message{}, unexpected(err)
	}
	m := Message{Type: Type(head[4]), ID: binary.BigEndian.Uint32(head[5:]), Rest: alloc(int(size) - 5)}
	if _, err := io.ReadFull(r, m.Rest); err != nil {
		return Message{}, unexpected(err)
	}
	return m, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append appends a message to b. The fields are of type uint32, uint64, string or []byte, or Attrs.
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

// Fields reads the fields of a message one after the other. After a failure it returns zero values.
type Fields struct {
	rest []byte
	err  error
}

// Fields returns what reads the fields of m.
func (m Message) Fields() *Fields { return &Fields{rest: m.Rest} }

// Err returns the first failure.
func (f *Fields) Err() error { return f.err }

// More reports whether there are bytes left.
func (f *Fields) More() bool { return f.err == nil && len(f.rest) > 0 }

func (f *Fields) take(n uint64) []byte {
	if f.err != nil {
		return nil
	}
	if n > uint64(len(f.rest)) {
		f.err = fmt.Errorf("%w: it ends within a field", ErrMalformed)
		f.rest = nil
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

// Uint32 reads a number of four bytes.
func (f *Fields) Uint32() uint32 {
	if b := f.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a number of eight bytes.
func (f *Fields) Uint64() uint64 {
	if b := f.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bytes reads a string. It is part of the message.
func (f *Fields) Bytes() []byte { return f.take(uint64(f.Uint32())) }

// Text reads a string.
func (f *Fields) Text() string { return string(f.Bytes()) }

// The flags of Attrs (section 5).
const (
	HasSize     uint32 = 1
	HasOwner    uint32 = 2
	HasMode     uint32 = 4
	HasTimes    uint32 = 8
	hasExtended uint32 = 0x80000000
)

// Attrs are the attributes of a file (section 5).
type Attrs struct {
	Flags        uint32 // which of the others are set
	Size         uint64
	UID, GID     uint32
	Mode         uint32 // as in POSIX, with the type of the file
	ATime, MTime uint32 // seconds since 1970
}

// Has reports whether the attributes with the flag are set.
func (a Attrs) Has(flag uint32) bool { return a.Flags&flag != 0 }

// Attrs reads attributes. Extensions are skipped.
func (f *Fields) Attrs() Attrs {
	a := Attrs{Flags: f.Uint32()}
	if a.Has(HasSize) {
		a.Size = f.Uint64()
	}
	if a.Has(HasOwner) {
		a.UID, a.GID = f.Uint32(), f.Uint32()
	}
	if a.Has(HasMode) {
		a.Mode = f.Uint32()
	}
	if a.Has(HasTimes) {
		a.ATime, a.MTime = f.Uint32(), f.Uint32()
	}
	if a.Has(hasExtended) {
		for n := f.Uint32(); n > 0 && f.err == nil; n-- {
			f.Bytes()
			f.Bytes()
		}
	}
	a.Flags &^= hasExtended
	if f.err != nil {
		return Attrs{}
	}
	return a
}

func (a Attrs) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, a.Flags)
	if a.Has(HasSize) {
		b = binary.BigEndian.AppendUint64(b, a.Size)
	}
	if a.Has(HasOwner) {
		b = binary.BigEndian.AppendUint32(b, a.UID)
		b = binary.BigEndian.AppendUint32(b, a.GID)
	}
	if a.Has(HasMode) {
		b = binary.BigEndian.AppendUint32(b, a.Mode)
	}
	if a.Has(HasTimes) {
		b = binary.BigEndian.AppendUint32(b, a.ATime)
		b = binary.BigEndian.AppendUint32(b, a.MTime)
	}
	return b
}

// ModTime returns when the file was last changed, the zero time if that is not known.
func (a Attrs) ModTime() time.Time {
	if !a.Has(HasTimes) {
		return time.Time{}
	}
	return time.Unix(int64(a.MTime), 0).UTC()
}

// The types of files in POSIX modes.
const (
	modeType    = 0o170000
	ModeDir     = 0o040000
	ModeRegular = 0o100000
	ModeLink    = 0o120000
)

var fileTypes = map[uint32]fs.FileMode{
	0o010000: fs.ModeNamedPipe,
	0o020000: fs.ModeDevice | fs.ModeCharDevice,
	ModeDir:  fs.ModeDir,
	0o060000: fs.ModeDevice,
	ModeLink: fs.ModeSymlink,
	0o140000: fs.ModeSocket,
}

// FileMode returns the mode. A type that is not known, or not told, is irregular.
func (a Attrs) FileMode() fs.FileMode {
	mode := fs.FileMode(a.Mode & 0o777)
	if a.Mode&0o4000 != 0 {
		mode |= fs.ModeSetuid
	}
	if a.Mode&0o2000 != 0 {
		mode |= fs.ModeSetgid
	}
	if a.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	kind := a.Mode & modeType
	if kind == ModeRegular {
		return mode
	}
	if t, ok := fileTypes[kind]; ok {
		return mode | t
	}
	return mode | fs.ModeIrregular
}

// A File is one file in a list of names (section 7).
type File struct {
	Name  string
	Long  string // the line that ls would show
	Attrs Attrs
}

// Files reads the list of a message of TypeName.
func (f *Fields) Files() []File {
	n := f.Uint32()
	if uint64(n) > uint64(len(f.rest))/12 { // two lengths and the flags
		if f.err == nil {
			f.err = fmt.Errorf("%w: it announces %d names", ErrMalformed, n)
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
