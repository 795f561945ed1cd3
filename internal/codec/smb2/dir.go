package smb2

import (
	"encoding/binary"
	"fmt"
)

// A Member is an entry of a directory.
type Member struct {
	Name          string
	LastWriteTime uint64 // a FILETIME
	Size          uint64
	Attributes    uint32
}

// directoryInformation has the fields before the name of a member (FILE_DIRECTORY_INFORMATION,
// [MS-FSCC], section 2.4.10).
type directoryInformation struct {
	NextEntryOffset, FileIndex                              uint32
	CreationTime, LastAccessTime, LastWriteTime, ChangeTime uint64
	EndOfFile, AllocationSize                               uint64
	FileAttributes, FileNameLength                          uint32
}

// memberSize is the size of directoryInformation, in bytes.
const memberSize = 64

// ParseMembers parses the buffer of a QueryDirectoryResponse.
func ParseMembers(b []byte) ([]Member, error) {
	var all []Member
	for {
		var d directoryInformation
		if _, err := binary.Decode(b, le, &d); err != nil ||
			uint64(d.FileNameLength) > uint64(len(b)-memberSize) {
			return nil, fmt.Errorf("%w: truncated directory entry", ErrMalformed)
		}
		all = append(all, Member{Name(b[memberSize:][:d.FileNameLength]), d.LastWriteTime,
			d.EndOfFile, d.FileAttributes})
		next := d.NextEntryOffset
		if next == 0 {
			return all, nil
		}
		if next < memberSize || uint64(next) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: invalid offset of a directory entry", ErrMalformed)
		}
		b = b[next:]
	}
}

// AppendMember appends a member to the members in b, for test servers. Last is the offset of the
// previous member, or -1. It returns the new buffer and the offset of m.
func AppendMember(b []byte, last int, m Member) (all []byte, at int) {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	at = len(b)
	if last >= 0 {
		le.PutUint32(b[last:], uint32(at-last))
	}
	name := UTF16(m.Name)
	b, err := binary.Append(b, le, directoryInformation{LastWriteTime: m.LastWriteTime,
		ChangeTime: m.LastWriteTime,
		EndOfFile:  m.Size, AllocationSize: m.Size, FileAttributes: m.Attributes,
		FileNameLength: uint32(len(name))})
	if err != nil {
		panic(err) // impossible: the structure has only numbers
	}
	return append(b, name...), at
}
