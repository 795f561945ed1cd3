package smb2

import (
	"encoding/binary"
	"fmt"
)

// DirectoryInformation is the class of information that Member has, for QUERY_DIRECTORY.
const DirectoryInformation = 1

// A Member is one of a directory ([MS-FSCC], section 2.4.10).
type Member struct {
	Name       string
	Written    uint64 // a FILETIME
	Size       uint64
	Attributes uint32
}

// memberSize is the size of what comes before a name.
const memberSize = 64

// ParseMembers reads the answer to a query.
func ParseMembers(b []byte) ([]Member, error) {
	le := binary.LittleEndian
	var all []Member
	for {
		if len(b) < memberSize || uint64(le.Uint32(b[60:])) > uint64(len(b)-memberSize) {
			return nil, fmt.Errorf("%w: a member of a directory", ErrMalformed)
		}
		all = append(all, Member{Name: Name(b[memberSize:][:le.Uint32(b[60:])]), Written: le.Uint64(b[24:]),
			Size: le.Uint64(b[40:]), Attributes: le.Uint32(b[56:])})
		next := le.Uint32(b)
		if next == 0 {
			return all, nil
		}
		if next < memberSize || uint64(next) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: members of a directory", ErrMalformed)
		}
		b = b[next:]
	}
}

// AppendMember appends a member to others, for test servers. Last is where the one before begins,
// or -1.
func AppendMember(b []byte, last int, m Member) (all []byte, at int) {
	le := binary.LittleEndian
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	at = len(b)
	if last >= 0 {
		le.PutUint32(b[last:], uint32(at-last))
	}
	name := UTF16(m.Name)
	b = append(b, make([]byte, 24)...)
	b = le.AppendUint64(b, m.Written)
	b = le.AppendUint64(b, m.Written)
	b = le.AppendUint64(le.AppendUint64(b, m.Size), m.Size)
	b = le.AppendUint32(b, m.Attributes)
	b = le.AppendUint32(b, uint32(len(name)))
	return append(b, name...), at
}
