package rsync

import (
	"io/fs"
	"time"
)

// An Item is an entry of a file list.
type Item struct {
	Name    string // relative to the directory of the request
	Size    int64
	ModTime time.Time
	Mode    uint32 // of Unix, with the type of the file
	Target  string // of a symbolic link
}

// Types of files in Item.Mode (S_IFMT and others).
const (
	typeMask   = 0o170000
	TypeDir    = 0o040000
	TypeFile   = 0o100000
	TypeLink   = 0o120000
	TypeFIFO   = 0o010000
	TypeSocket = 0o140000
	TypeBlock  = 0o060000
	TypeChar   = 0o020000
)

// IsDir reports whether the item is a directory.
func (i Item) IsDir() bool { return i.Mode&typeMask == TypeDir }

// IsFile reports whether the item is a regular file.
func (i Item) IsFile() bool { return i.Mode&typeMask == TypeFile }

// IsLink reports whether the item is a symbolic link.
func (i Item) IsLink() bool { return i.Mode&typeMask == TypeLink }

// FileMode returns the mode as a mode of Go.
func (i Item) FileMode() fs.FileMode {
	mode := fs.FileMode(i.Mode & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid,
		0o1000: fs.ModeSticky} {
		if i.Mode&bit != 0 {
			mode |= flag
		}
	}
	switch i.Mode & typeMask {
	case TypeFile:
		return mode
	case TypeDir:
		return mode | fs.ModeDir
	case TypeLink:
		return mode | fs.ModeSymlink
	case TypeFIFO:
		return mode | fs.ModeNamedPipe
	case TypeSocket:
		return mode | fs.ModeSocket
	case TypeBlock:
		return mode | fs.ModeDevice
	case TypeChar:
		return mode | fs.ModeDevice | fs.ModeCharDevice
	}
	return mode | fs.ModeIrregular
}

// Flags of an item (XMIT_TOP_DIR and others).
const (
	flagTopDir       = 1 << 0
	flagSameMode     = 1 << 1
	flagExtended     = 1 << 2 // since version 28
	flagSameName     = 1 << 5
	flagLongName     = 1 << 6
	flagSameTime     = 1 << 7
	flagNoContentDir = 1 << 8
	flagErrorEnd     = 1 << 12 // XMIT_IO_ERROR_ENDLIST
	flagNanoseconds  = 1 << 13 // XMIT_MOD_NSEC, since version 31

	// knownFlags are those that occur without options for owners, devices, hard links and access times. The
	// bits 3 and 4 are set because owners are not sent.
	knownFlags = 0xff | flagNoContentDir | flagNanoseconds
)

// A List reads the items of a file list. It keeps only the last one.
type List struct {
	// Errors are the bits of io_error at the end of the list: the server could not read everything.
	Errors int32

	d        *Decoder
	hasLinks bool
	last     Item
}

// Bits of io_error.
const (
	ErrorGeneral  = 1 << 0
	ErrorVanished = 1 << 1 // files were removed while the list was made
)

// NewList returns a List. HasLinks is set if the targets of symbolic links were requested.
func NewList(d *Decoder, hasLinks bool) *List { return &List{d: d, hasLinks: hasLinks} }

// Next returns the next item. Ok is false at the end and after an error.
func (l *List) Next() (item Item, ok bool, err error) {
	d := l.d
	flags := int(d.Byte())
	if d.Protocol >= 28 && flags&flagExtended != 0 {
		flags |= int(d.Byte()) << 8
	}
	switch {
	case flags == 0:
		if d.Protocol < 30 {
			l.Errors = d.Int()
		}
		return Item{}, false, d.Err()
	case flags == flagExtended|flagErrorEnd && d.Protocol >= 30:
		l.Errors = d.Varint()
		return Item{}, false, d.Err()
	case flags&^knownFlags != 0 || flags&flagNanoseconds != 0 && d.Protocol < 31:
		d.Fail("flags %#04x of a file", flags)
	}
	l.item(flags)
	if err := d.Err(); err != nil {
		return Item{}, false, err
	}
	return l.last, true, nil
}

func (l *List) item(flags int) {
	d, i := l.d, &l.last
	i.Name = l.name(flags)
	if i.Size = d.Long(3); i.Size < 0 {
		d.Fail("file of %d bytes", i.Size)
	}
	if flags&flagSameTime == 0 {
		if d.Protocol >= 30 {
			i.ModTime = time.Unix(d.Long(4), 0)
		} else {
			i.ModTime = time.Unix(int64(uint32(d.Int())), 0)
		}
	}
	i.ModTime = i.ModTime.Truncate(time.Second)
	if flags&flagNanoseconds != 0 {
		ns := d.Varint()
		if ns < 0 || ns >= 1e9 {
			d.Fail("time with %d nanoseconds", ns)
		}
		i.ModTime = i.ModTime.Add(time.Duration(ns))
	}
	if flags&flagSameMode == 0 {
		i.Mode = uint32(d.Int())
	}
	i.Target = ""
	if l.hasLinks && i.IsLink() {
		i.Target = d.Text(d.Varint(), MaxPath-1)
	}
}

func (l *List) name(flags int) string {
	same, size := 0, int32(0)
	if flags&flagSameName != 0 {
		same = int(l.d.Byte())
	}
	if flags&flagLongName != 0 {
		size = l.d.Varint()
	} else {
		size = int32(l.d.Byte())
	}
	if same > len(l.last.Name) {
		l.d.Fail("name with %d bytes of a name of %d", same, len(l.last.Name))
		return ""
	}
	return l.last.Name[:same] + l.d.Text(size, MaxPath-1-same)
}

// AppendItem appends an item, without reference to the one before.
func AppendItem(b []byte, protocol int, i Item) []byte {
	flags := flagTopDir | 3<<3
	if len(i.Name) > 255 {
		flags |= flagLongName
	}
	ns := int32(i.ModTime.Nanosecond())
	if ns > 0 && protocol >= 31 {
		flags |= flagExtended | flagNanoseconds
	}
	b = append(b, byte(flags))
	if flags&flagExtended != 0 {
		b = append(b, byte(flags>>8))
	}
	if flags&flagLongName != 0 {
		b = AppendVarint(b, protocol, int32(len(i.Name)))
	} else {
		b = append(b, byte(len(i.Name)))
	}
	b = AppendLong(append(b, i.Name...), protocol, i.Size, 3)
	if protocol >= 30 {
		b = AppendLong(b, protocol, i.ModTime.Unix(), 4)
	} else {
		b = AppendInt(b, int32(i.ModTime.Unix()))
	}
	if flags&flagNanoseconds != 0 {
		b = AppendVarint(b, protocol, ns)
	}
	b = AppendInt(b, int32(i.Mode))
	if i.Target != "" {
		b = append(AppendVarint(b, protocol, int32(len(i.Target))), i.Target...)
	}
	return b
}

// AppendListEnd appends the end of a list.
func AppendListEnd(b []byte, protocol int, errors int32) []byte {
	switch {
	case protocol < 30:
		return AppendInt(append(b, 0), errors)
	case errors == 0:
		return append(b, 0)
	}
	return AppendVarint(append(b, flagExtended, flagErrorEnd>>8), protocol, errors)
}
