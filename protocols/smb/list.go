package smb

import (
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// maxShares limits the size of the list of shares, in bytes.
const maxShares = 1 << 20

// Sys is the additional information about an entry of a listing.
type Sys struct {
	// Attributes are those of a file: "r", "h", "s", "a" for read-only, hidden, system, archive.
	Attributes string `fact:"attributes,optional"`
	Remark     string `fact:"remark,optional"` // of a share
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("smb", "", s) }

func (d *opener) directory(l lease, t *target, f *file) (*fetch.Response, error) {
	base := t.Directory()
	resp, read := remotefile.Listing(t.req, remotefile.Member(base, "", false), t.name(), f.modTime())
	if !read {
		return resp, l.Conn.close(f)
	}
	list := &listing{lease: l, file: f, base: base}
	driver.SetParts(resp, list.parts, func() error { l.Discard(); return nil })
	return resp, nil
}

type listing struct {
	lease lease
	file  *file
	base  string
}

func (l *listing) parts(yield func(driver.Part, error) bool) {
	defer l.lease.Put()
	for {
		members, err := l.next()
		if err == nil && members == nil {
			err = l.lease.Conn.close(l.file)
			if err == nil {
				return
			}
		}
		if err != nil {
			yield(driver.Part{}, remotefile.ListingError(err))
			return
		}
		for _, m := range members {
			if m.Name == "." || m.Name == ".." {
				continue
			}
			if !remotefile.IsName(m.Name) {
				yield(driver.Part{}, fetch.ErrProtocol.Errorf("invalid file name %q in the listing", m.Name))
				return
			}
			if strings.Contains(m.Name, `\`) { // Samba may list such files, but they cannot be opened
				e := fetch.Entry{Kind: fetch.EntryText, Name: m.Name, Size: -1}
				if !yield(driver.Part{Entries: []fetch.Entry{e}}, nil) {
					return
				}
				continue
			}
			e := entry(l.base, m)
			if e.URL.IsZero() {
				continue // too long for a URL
			}
			if !yield(driver.URIListPart("", e), nil) {
				return
			}
		}
	}
}

func (l *listing) next() ([]smb2.Member, error) {
	s := l.lease.Conn
	req := &smb2.QueryDirectoryRequest{FileInformationClass: smb2.FileDirectoryInformation,
		FileID: l.file.FileID, OutputBufferLength: creditSize}
	m, data, err := s.roundTrip(smb2.QueryDirectory, creditSize, req, smb2.UTF16("*"),
		&smb2.QueryDirectoryResponse{}, smb2.StatusNoMoreFiles, smb2.StatusNoSuchFile)
	if err != nil || m.Status != smb2.StatusSuccess {
		return nil, err
	}
	members, err := smb2.ParseMembers(data)
	if err != nil {
		return nil, s.violation("%v", err)
	}
	return members, nil
}

func entry(base string, m smb2.Member) fetch.Entry {
	isDir, sys := m.Attributes&smb2.AttributeDirectory != 0, Sys{Attributes: attributes(m.Attributes)}
	u := remotefile.Member(base, m.Name, isDir)
	if isDir {
		return remotefile.Directory(u, m.Name, smb2.Time(m.LastWriteTime), sys)
	}
	return remotefile.File(u, m.Name, max(int64(m.Size), -1), smb2.Time(m.LastWriteTime), sys)
}

// attributes returns the letters of the attributes in bits ([MS-FSCC], section 2.6).
func attributes(bits uint32) string {
	var b strings.Builder
	for _, a := range []struct {
		bit    uint32
		letter byte
	}{
		{smb2.AttributeReadonly, 'r'}, {smb2.AttributeHidden, 'h'},
		{smb2.AttributeSystem, 's'}, {smb2.AttributeArchive, 'a'},
	} {
		if bits&a.bit != 0 {
			b.WriteByte(a.letter)
		}
	}
	return b.String()
}

func (d *opener) shares(l lease, t *target) (*fetch.Response, error) {
	var entries []fetch.Entry
	if t.req.Op != fetch.OpStat {
		all, err := l.Conn.shares(t.url.Host())
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if s.IsDisk() && s.Name != "" && !strings.ContainsAny(s.Name, "/\\\x00") {
				u := remotefile.Member(t.Base, s.Name, true)
				entries = append(entries, remotefile.Directory(u, s.Name, time.Time{}, Sys{Remark: s.Remark}))
			}
		}
		l.Put()
	}
	return remotefile.Directories(t.req, t.Base, "", entries), nil
}

func (s *session) shares(server string) ([]smb2.Share, error) {
	f, err := s.open("srvsvc", true)
	if err != nil {
		return nil, err
	}
	ack, err := s.transceive(f, smb2.BindRequest())
	if err != nil {
		return nil, err
	}
	if err := smb2.CheckBindAck(ack); err != nil {
		return nil, s.violation("%v", err)
	}
	data, err := s.transceive(f, smb2.ShareEnumRequest(server))
	if err != nil {
		return nil, err
	}
	var all []byte
	for {
		stub, rest, last, ok, err := smb2.ParseFragment(data)
		if err != nil {
			return nil, s.violation("%v", err)
		}
		if data = rest; ok {
			if all = append(all, stub...); !last {
				continue
			}
			break
		}
		more, err := s.readPipe(f)
		if err != nil {
			return nil, err
		}
		if data = append(data, more...); len(all)+len(data) > maxShares {
			return nil, s.violation("the share list has more than %d bytes", maxShares)
		}
	}
	list, err := smb2.ParseShares(all)
	if err != nil {
		return nil, s.violation("%v", err)
	}
	return list, s.close(f)
}

// maxPipe limits the data of one read from a pipe, in bytes.
const maxPipe = creditSize - 1024

// transceive writes a message to a pipe and reads the response or its beginning.
func (s *session) transceive(f *file, msg []byte) ([]byte, error) {
	req := &smb2.IoctlRequest{CtlCode: smb2.FsctlPipeTransceive, FileID: f.FileID,
		MaxOutputResponse: maxPipe, Flags: smb2.IoctlIsFsctl}
	_, data, err := s.roundTrip(smb2.Ioctl, creditSize, req, msg, &smb2.IoctlResponse{},
		smb2.StatusBufferOverflow)
	return data, err
}

func (s *session) readPipe(f *file) ([]byte, error) {
	req := &smb2.ReadRequest{Padding: smb2.ReadDataOffset, Length: maxPipe, FileID: f.FileID}
	_, data, err := s.roundTrip(smb2.Read, creditSize, req, nil, &smb2.ReadResponse{},
		smb2.StatusBufferOverflow)
	if err == nil && len(data) == 0 {
		err = s.violation("the share list is truncated")
	}
	return data, err
}
