package smb

import (
	"encoding/binary"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
)

const (
	// listType is the media type of a directory: one URL per line (RFC 2483, section 5).
	listType = "text/uri-list"
	// maxShares bounds what a server tells of its shares, in bytes.
	maxShares = 1 << 20
)

// Sys is the additional information about an entry of a listing.
type Sys struct {
	Attributes string `json:"attributes,omitempty"` // of a file: letters of r, h, s, a
	Remark     string `json:"remark,omitempty"`     // of a share
}

// directory returns the response for a directory.
func (d *driver) directory(l lease, t *target, f *file) (*fetch.Response, error) {
	meta := fetch.Meta{Kind: fetch.KindListing, ContentType: listType, Size: -1, Name: fetch.SafeName(t.name())}
	meta.ModTime = f.modTime()
	base := t.directory()
	resp := &fetch.Response{Meta: meta, URL: member(base, "", false), Body: fetch.NoBody}
	if t.req.Op == fetch.OpStat {
		return resp, l.Conn.close(f)
	}
	list := &listing{lease: l, file: f, base: base}
	resp.Body, resp.Parse = fetch.NewListing(list.parts, func() error { l.Discard(); return nil })
	return resp, nil
}

// A listing reads the members of a directory.
type listing struct {
	lease lease
	file  *file
	base  string
}

// parts yields a line and an entry for each member.
func (l *listing) parts(yield func(fetch.Part, error) bool) {
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
			yield(fetch.Part{}, truncated(err, 0, 0))
			return
		}
		for _, m := range members {
			if m.Name == "." || m.Name == ".." {
				continue
			}
			if m.Name == "" || strings.ContainsAny(m.Name, "/\x00") {
				yield(fetch.Part{}, violation("%q is not the name of a member", m.Name))
				return
			}
			if strings.Contains(m.Name, `\`) { // Samba has such files, and nobody can ask for them
				if !yield(fetch.Part{Entries: []fetch.Entry{{Kind: fetch.EntryText, Name: m.Name, Size: -1}}}, nil) {
					return
				}
				continue
			}
			e := entry(l.base, m)
			if e.URL.IsZero() {
				continue // too long for a URL
			}
			if !yield(fetch.URIListPart("", e), nil) {
				return
			}
		}
	}
}

// next returns the next members; nil at the end.
func (l *listing) next() ([]smb2.Member, error) {
	s, le := l.lease.Conn, binary.LittleEndian
	b := []byte{33, 0, smb2.DirectoryInformation, 0, 0, 0, 0, 0}
	b = append(b, l.file.id...)
	b = append(b, smb2.HeaderSize+32, 0, 2, 0)
	b = le.AppendUint32(b, maxOther)
	m, err := s.ask(smb2.QueryDirectory, maxOther, append(b, '*', 0), smb2.StatusNoMoreFiles, smb2.StatusNoSuchFile)
	if err != nil || m.Status != smb2.StatusOK {
		return nil, err
	}
	r, err := s.body(m, 9)
	if err != nil {
		return nil, err
	}
	data, err := s.part(m, uint32(le.Uint16(r[2:])), le.Uint32(r[4:]))
	if err != nil {
		return nil, err
	}
	members, err := smb2.ParseMembers(data)
	if err != nil {
		return nil, s.fail(violation("%v", err))
	}
	return members, nil
}

// entry returns the entry for a member.
func entry(base string, m smb2.Member) fetch.Entry {
	isDir := m.Attributes&smb2.AttrDirectory != 0
	e := fetch.Entry{Name: m.Name, Rel: "item", Size: -1, ModTime: smb2.Time(m.Written), URL: member(base, m.Name, isDir),
		Sys: Sys{Attributes: attributes(m.Attributes)}}
	if isDir {
		e.Kind, e.ContentType = fetch.EntryListing, listType
		return e
	}
	e.ContentType = fetch.TypeByName(m.Name)
	if size := int64(m.Size); size >= 0 {
		e.Size = size
	}
	return e
}

// attributes returns letters for those that are set ([MS-FSCC], section 2.6).
func attributes(bits uint32) string {
	var b strings.Builder
	for _, a := range []struct {
		bit    uint32
		letter byte
	}{{1, 'r'}, {2, 'h'}, {4, 's'}, {0x20, 'a'}} {
		if bits&a.bit != 0 {
			b.WriteByte(a.letter)
		}
	}
	return b.String()
}

// shares returns the response for the shares of a server.
func (d *driver) shares(l lease, t *target) (*fetch.Response, error) {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: listType, Size: -1}, URL: member(t.base, "", false), Body: fetch.NoBody}
	if t.req.Op == fetch.OpStat {
		return resp, nil
	}
	all, err := l.Conn.shares(t.url.Host())
	if err != nil {
		return nil, err
	}
	var entries []fetch.Part
	for _, s := range all {
		if !s.IsDisk() || s.Name == "" || strings.ContainsAny(s.Name, "/\\\x00") {
			continue
		}
		e := fetch.Entry{Name: s.Name, Kind: fetch.EntryListing, Rel: "item", ContentType: listType, Size: -1,
			URL: member(t.base, s.Name, true), Sys: Sys{Remark: s.Remark}}
		if !e.URL.IsZero() {
			entries = append(entries, fetch.URIListPart("", e))
		}
	}
	l.Put()
	resp.Body, resp.Parse = fetch.NewListing(func(yield func(fetch.Part, error) bool) {
		for _, p := range entries {
			if !yield(p, nil) {
				return
			}
		}
	}, nil)
	return resp, nil
}

// shares asks for the shares of a server.
func (s *session) shares(server string) ([]smb2.Share, error) {
	f, err := s.open("srvsvc", true)
	if err != nil {
		return nil, err
	}
	bound, err := s.transceive(f, smb2.BindShares())
	if err != nil {
		return nil, err
	}
	if err := smb2.BoundShares(bound); err != nil {
		return nil, s.fail(violation("%v", err))
	}
	got, err := s.transceive(f, smb2.AskShares(server))
	if err != nil {
		return nil, err
	}
	var all []byte
	for {
		stub, rest, last, ok, err := smb2.Fragment(got)
		if err != nil {
			return nil, s.fail(violation("%v", err))
		}
		if got = rest; ok {
			if all = append(all, stub...); !last {
				continue
			}
			break
		}
		more, err := s.readPipe(f)
		if err != nil {
			return nil, err
		}
		if got = append(got, more...); len(all)+len(got) > maxShares {
			return nil, s.fail(violation("more about shares than %d bytes", maxShares))
		}
	}
	list, err := smb2.ParseShares(all)
	if err != nil {
		return nil, s.fail(violation("%v", err))
	}
	return list, s.close(f)
}

// transceive writes a message to a pipe and reads the answer, or its beginning.
func (s *session) transceive(f *file, msg []byte) ([]byte, error) {
	le := binary.LittleEndian
	b := []byte{57, 0, 0, 0}
	b = le.AppendUint32(b, smb2.PipeTransceive)
	b = append(b, f.id...)
	for _, v := range []uint32{smb2.HeaderSize + 56, uint32(len(msg)), 0, 0, 0, maxOther - 1024, 1, 0} {
		b = le.AppendUint32(b, v)
	}
	m, err := s.ask(smb2.Ioctl, maxOther, append(b, msg...), smb2.StatusBufferOverflow)
	if err != nil {
		return nil, err
	}
	r, err := s.body(m, 49)
	if err != nil {
		return nil, err
	}
	return s.part(m, le.Uint32(r[32:]), le.Uint32(r[36:]))
}

// readPipe reads on.
func (s *session) readPipe(f *file) ([]byte, error) {
	le := binary.LittleEndian
	b := []byte{49, 0, smb2.HeaderSize + 16, 0}
	b = le.AppendUint32(b, maxOther-1024)
	b = append(append(b, make([]byte, 8)...), f.id...)
	m, err := s.ask(smb2.Read, maxOther, append(b, make([]byte, 17)...), smb2.StatusBufferOverflow)
	if err != nil {
		return nil, err
	}
	r, err := s.body(m, 17)
	if err != nil {
		return nil, err
	}
	data, err := s.part(m, uint32(r[2]), le.Uint32(r[4:]))
	if err == nil && len(data) == 0 {
		err = s.fail(violation("an answer about shares that does not go on"))
	}
	return data, err
}
