package nfs3

import "github.com/urlget/urlget/internal/codec/xdr"

// The procedures of the MOUNT protocol (RFC 1813, section 5.2) and of the port mapper (RFC 1833,
// section 3).
var (
	Mnt     = Proc{ProgramMount, 3, 1, "MNT"}
	Umnt    = Proc{ProgramMount, 3, 3, "UMNT"}
	Export  = Proc{ProgramMount, 3, 5, "EXPORT"}
	Getport = Proc{ProgramPortmap, 2, 3, "GETPORT"}
)

// Limits of an export list.
const (
	maxExports = 10_000
	maxClients = 10_000
)

// MountArgs returns the arguments of MNT and UMNT.
func MountArgs(path string) func([]byte) []byte {
	return func(b []byte) []byte { return xdr.AppendOpaque(b, path) }
}

// A MountResult is the result of MNT.
type MountResult struct {
	Handle  string
	Flavors []uint32 // accepted authentication flavors, preferred first
}

// ParseMount reads the result of MNT after its status.
func ParseMount(d *xdr.Decoder) MountResult {
	m := MountResult{Handle: ParseHandle(d)}
	n := d.Uint32()
	if uint64(n)*4 > uint64(d.Len()) {
		d.Fail("%d authentication flavors", n)
	}
	for ; n > 0 && d.Err() == nil; n-- {
		m.Flavors = append(m.Flavors, d.Uint32())
	}
	return m
}

// Append appends the result of MNT.
func (m MountResult) Append(b []byte) []byte {
	b = xdr.AppendUint32(AppendHandle(b, m.Handle), uint32(len(m.Flavors)))
	for _, f := range m.Flavors {
		b = xdr.AppendUint32(b, f)
	}
	return b
}

// ParseExports reads the result of EXPORT. It returns the paths of the exports and skips the groups
// that may mount them.
func ParseExports(d *xdr.Decoder) []string {
	var paths []string
	for clients := 0; d.More(); {
		if len(paths) == maxExports {
			d.Fail("more than %d exports", maxExports)
			break
		}
		paths = append(paths, d.Text(MaxPath))
		for ; d.More(); clients++ {
			if d.Opaque(MaxName); clients == maxClients {
				d.Fail("exports to more than %d clients", maxClients)
			}
		}
	}
	if d.Err() != nil {
		return nil
	}
	return paths
}

// AppendExports appends a result of EXPORT that exports the paths to everyone.
func AppendExports(b []byte, paths []string) []byte {
	for _, p := range paths {
		b = xdr.AppendBool(xdr.AppendOpaque(xdr.AppendBool(b, true), p), false)
	}
	return xdr.AppendBool(b, false)
}

// ipTCP is the protocol number of TCP.
const ipTCP = 6

// GetportArgs returns the arguments of GETPORT for an RPC program over TCP.
func GetportArgs(program, version uint32) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, v := range [...]uint32{program, version, ipTCP, 0} {
			b = xdr.AppendUint32(b, v)
		}
		return b
	}
}
