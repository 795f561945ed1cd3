package nfs3

import (
	"cmp"
	"fmt"
	"io/fs"
	"time"

	"github.com/urlget/urlget/internal/codec/xdr"
)

// The procedures of NFS that read (RFC 1813, section 3.3).
var (
	Null        = Proc{ProgramNFS, 3, 0, "NULL"}
	Getattr     = Proc{ProgramNFS, 3, 1, "GETATTR"}
	Lookup      = Proc{ProgramNFS, 3, 3, "LOOKUP"}
	Readlink    = Proc{ProgramNFS, 3, 5, "READLINK"}
	Read        = Proc{ProgramNFS, 3, 6, "READ"}
	Readdir     = Proc{ProgramNFS, 3, 16, "READDIR"}
	Readdirplus = Proc{ProgramNFS, 3, 17, "READDIRPLUS"}
)

// Limits of variable-length fields.
const (
	// maxHandle limits a file handle, in bytes (RFC 1813, section 2.4).
	maxHandle = 64
	// MaxName limits a file name, in bytes. The protocol itself has no limit.
	MaxName = 1 << 10
	// MaxPath limits the text of a symbolic link and the path of an export, in bytes (RFC 1813,
	// section 5.1.1).
	MaxPath = 4 << 10
)

// A Status is the result status of a procedure (RFC 1813, section 2.6).
type Status uint32

// The statuses that procedures for reading return.
const (
	OK             Status = 0
	ErrPerm        Status = 1
	ErrNoEnt       Status = 2
	ErrIO          Status = 5
	ErrNXIO        Status = 6
	ErrAcces       Status = 13
	ErrNoDev       Status = 19
	ErrNotDir      Status = 20
	ErrIsDir       Status = 21
	ErrInval       Status = 22
	ErrNameTooLong Status = 63
	ErrStale       Status = 70
	ErrRemote      Status = 71
	ErrBadHandle   Status = 10001
	ErrBadCookie   Status = 10003
	ErrNotSupp     Status = 10004
	ErrTooSmall    Status = 10005
	ErrServerFault Status = 10006
	ErrBadType     Status = 10007
	ErrJukebox     Status = 10008
)

var statusNames = map[Status]string{
	OK: "NFS3_OK", ErrPerm: "NFS3ERR_PERM", ErrNoEnt: "NFS3ERR_NOENT", ErrIO: "NFS3ERR_IO",
	ErrNXIO: "NFS3ERR_NXIO", ErrAcces: "NFS3ERR_ACCES", ErrNoDev: "NFS3ERR_NODEV",
	ErrNotDir: "NFS3ERR_NOTDIR", ErrIsDir: "NFS3ERR_ISDIR", ErrInval: "NFS3ERR_INVAL",
	ErrNameTooLong: "NFS3ERR_NAMETOOLONG", ErrStale: "NFS3ERR_STALE", ErrRemote: "NFS3ERR_REMOTE",
	ErrBadHandle: "NFS3ERR_BADHANDLE", ErrBadCookie: "NFS3ERR_BAD_COOKIE",
	ErrNotSupp: "NFS3ERR_NOTSUPP", ErrTooSmall: "NFS3ERR_TOOSMALL",
	ErrServerFault: "NFS3ERR_SERVERFAULT", ErrBadType: "NFS3ERR_BADTYPE",
	ErrJukebox: "NFS3ERR_JUKEBOX",
}

// String returns the name of the status in RFC 1813.
func (s Status) String() string {
	return cmp.Or(statusNames[s], fmt.Sprintf("nfsstat3 %d", uint32(s)))
}

// The types of files (RFC 1813, section 2.6).
const (
	TypeRegular = 1 // NF3REG
	TypeDir     = 2 // NF3DIR
	TypeBlock   = 3 // NF3BLK
	TypeChar    = 4 // NF3CHR
	TypeLink    = 5 // NF3LNK
	TypeSocket  = 6 // NF3SOCK
	TypeFIFO    = 7 // NF3FIFO
)

// A Time is the time since January 1, 1970, 00:00:00 UTC (nfstime3).
type Time struct{ Seconds, Nanoseconds uint32 }

// Time converts t to a time.Time in UTC.
func (t Time) Time() time.Time { return time.Unix(int64(t.Seconds), int64(t.Nanoseconds)).UTC() }

// TimeOf converts t to a Time. The zero time.Time becomes the zero Time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{uint32(t.Unix()), uint32(t.Nanosecond())}
}

func (t Time) append(b []byte) []byte {
	return xdr.AppendUint32(xdr.AppendUint32(b, t.Seconds), t.Nanoseconds)
}

func parseTime(d *xdr.Decoder) Time { return Time{d.Uint32(), d.Uint32()} }

// Attr holds the attributes of a file (fattr3).
type Attr struct {
	Type                int
	Mode                uint32 // permissions as in POSIX
	Links               uint32
	UID, GID            uint32
	Size, Used          uint64
	Device              [2]uint32
	FSID, FileID        uint64
	ATime, MTime, CTime Time
}

// IsDir reports whether the file is a directory.
func (a Attr) IsDir() bool { return a.Type == TypeDir }

// IsLink reports whether the file is a symbolic link.
func (a Attr) IsLink() bool { return a.Type == TypeLink }

// IsRegular reports whether the file is a regular file.
func (a Attr) IsRegular() bool { return a.Type == TypeRegular }

var fileTypes = map[int]fs.FileMode{
	TypeRegular: 0, TypeDir: fs.ModeDir, TypeBlock: fs.ModeDevice,
	TypeChar: fs.ModeDevice | fs.ModeCharDevice, TypeLink: fs.ModeSymlink,
	TypeSocket: fs.ModeSocket, TypeFIFO: fs.ModeNamedPipe,
}

// FileMode returns the type and the permissions. An unknown type becomes fs.ModeIrregular.
func (a Attr) FileMode() fs.FileMode {
	mode := fs.FileMode(a.Mode & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid,
		0o1000: fs.ModeSticky} {
		if a.Mode&bit != 0 {
			mode |= flag
		}
	}
	if t, ok := fileTypes[a.Type]; ok {
		return mode | t
	}
	return mode | fs.ModeIrregular
}

// Append appends the attributes.
func (a Attr) Append(b []byte) []byte {
	for _, v := range [...]uint32{uint32(a.Type), a.Mode, a.Links, a.UID, a.GID} {
		b = xdr.AppendUint32(b, v)
	}
	b = xdr.AppendUint64(xdr.AppendUint64(b, a.Size), a.Used)
	b = xdr.AppendUint32(xdr.AppendUint32(b, a.Device[0]), a.Device[1])
	b = xdr.AppendUint64(xdr.AppendUint64(b, a.FSID), a.FileID)
	return a.CTime.append(a.MTime.append(a.ATime.append(b)))
}

// ParseAttr reads attributes.
func ParseAttr(d *xdr.Decoder) Attr {
	a := Attr{Type: int(d.Uint32()), Mode: d.Uint32(), Links: d.Uint32(), UID: d.Uint32(), GID: d.Uint32(),
		Size: d.Uint64(), Used: d.Uint64(), Device: [2]uint32{d.Uint32(), d.Uint32()},
		FSID: d.Uint64(), FileID: d.Uint64()}
	a.ATime, a.MTime, a.CTime = parseTime(d), parseTime(d), parseTime(d)
	return a
}

// AppendOptAttr appends optional attributes (post_op_attr).
func AppendOptAttr(b []byte, a *Attr) []byte {
	if b = xdr.AppendBool(b, a != nil); a != nil {
		b = a.Append(b)
	}
	return b
}

// parseOptAttr reads optional attributes (post_op_attr). It returns nil if they are missing.
func parseOptAttr(d *xdr.Decoder) *Attr {
	if !d.More() {
		return nil
	}
	a := ParseAttr(d)
	return &a
}

// AppendHandle appends a file handle.
func AppendHandle(b []byte, handle string) []byte { return xdr.AppendOpaque(b, handle) }

// ParseHandle reads a file handle.
func ParseHandle(d *xdr.Decoder) string { return d.Text(maxHandle) }

// LookupArgs returns the arguments of LOOKUP.
func LookupArgs(dir, name string) func([]byte) []byte {
	return func(b []byte) []byte { return xdr.AppendOpaque(AppendHandle(b, dir), name) }
}

// HandleArgs returns the arguments of GETATTR and READLINK.
func HandleArgs(handle string) func([]byte) []byte {
	return func(b []byte) []byte { return AppendHandle(b, handle) }
}

// ReadArgs returns the arguments of READ.
func ReadArgs(handle string, offset uint64, count uint32) func([]byte) []byte {
	return func(b []byte) []byte {
		return xdr.AppendUint32(xdr.AppendUint64(AppendHandle(b, handle), offset), count)
	}
}

// A LookupResult is the result of LOOKUP.
type LookupResult struct {
	Handle string
	Attr   *Attr // nil if not sent
}

// ParseLookup reads the result of LOOKUP after its status.
func ParseLookup(d *xdr.Decoder) LookupResult {
	f := LookupResult{ParseHandle(d), parseOptAttr(d)}
	parseOptAttr(d) // of the directory
	return f
}

// ParseLink reads the result of READLINK after its status.
func ParseLink(d *xdr.Decoder) string {
	parseOptAttr(d)
	return d.Text(MaxPath)
}

// A Data is the result of READ.
type Data struct {
	Attr  *Attr // of the file; nil if not sent
	EOF   bool
	Bytes []byte // aliases the input
}

// ParseData reads the result of READ after its status. It fails if there are more than limit bytes
// of data.
func ParseData(d *xdr.Decoder, limit int) Data {
	attr := parseOptAttr(d)
	count := d.Uint32()
	data := Data{Attr: attr, EOF: d.Bool(), Bytes: d.Opaque(limit)}
	if d.Err() == nil && int(count) != len(data.Bytes) {
		d.Fail("%d bytes of data, but a count of %d", len(data.Bytes), count)
	}
	return data
}

// ReaddirArgs returns the arguments of READDIR, or of READDIRPLUS if plus is set. The result may have
// at most count bytes.
func ReaddirArgs(dir string, cookie, verifier uint64, count uint32, plus bool) func([]byte) []byte {
	return func(b []byte) []byte {
		b = xdr.AppendUint64(xdr.AppendUint64(AppendHandle(b, dir), cookie), verifier)
		if plus {
			b = xdr.AppendUint32(b, count/4) // dircount: names without attributes
		}
		return xdr.AppendUint32(b, count)
	}
}

// An Entry is a member of a directory.
type Entry struct {
	FileID uint64
	Name   string
	Cookie uint64
	Attr   *Attr  // nil if not sent, and with READDIR
	Handle string // "" if not sent, and with READDIR
}

// A Listing is the result of READDIR or READDIRPLUS.
type Listing struct {
	Verifier uint64
	Entries  []Entry
	EOF      bool
}

// ParseListing reads the result of READDIR, or of READDIRPLUS if plus is set, after its status.
func ParseListing(d *xdr.Decoder, plus bool) Listing {
	parseOptAttr(d) // of the directory
	l := Listing{Verifier: d.Uint64()}
	for d.More() {
		e := Entry{FileID: d.Uint64(), Name: d.Text(MaxName), Cookie: d.Uint64()}
		if plus {
			e.Attr = parseOptAttr(d)
			if d.More() {
				e.Handle = ParseHandle(d)
			}
		}
		l.Entries = append(l.Entries, e)
	}
	l.EOF = d.Bool()
	if d.Err() != nil {
		return Listing{}
	}
	return l
}

// Append appends the result of READDIR, or of READDIRPLUS if plus is set.
func (l Listing) Append(b []byte, dir *Attr, plus bool) []byte {
	b = xdr.AppendUint64(AppendOptAttr(b, dir), l.Verifier)
	for _, e := range l.Entries {
		b = e.Append(xdr.AppendBool(b, true), plus)
	}
	return xdr.AppendBool(xdr.AppendBool(b, false), l.EOF)
}

// Append appends an entry without the preceding boolean.
func (e Entry) Append(b []byte, plus bool) []byte {
	b = xdr.AppendUint64(xdr.AppendOpaque(xdr.AppendUint64(b, e.FileID), e.Name), e.Cookie)
	if plus {
		b = AppendOptAttr(b, e.Attr)
		if b = xdr.AppendBool(b, e.Handle != ""); e.Handle != "" {
			b = AppendHandle(b, e.Handle)
		}
	}
	return b
}
