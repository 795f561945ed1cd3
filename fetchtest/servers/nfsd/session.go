package nfsd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

// A session handles the calls of one client.
type session struct {
	server *Server
	conn   *servers.Conn
	raw    net.Conn
	split  bool
	// faults maps file handles to the failures taken for them.
	faults map[string]*servers.Failure
	seen   map[string]bool // file handles that were read
	attr   *nfs3.Attr      // of the file that is being read
}

// errEnd ends a session.
var errEnd = errors.New("nfsd: end")

// maxCall limits a call, in bytes.
const maxCall = 64 << 10

// serve handles the calls of one client.
func (s *Server) serve(c *servers.Conn) {
	x := &session{server: s, conn: c, raw: c.NetConn(), faults: make(map[string]*servers.Failure),
		seen: make(map[string]bool)}
	for {
		record, err := xdr.ReadRecord(c, nil, maxCall)
		if err != nil {
			return
		}
		call, err := nfs3.ParseCall(record)
		if err != nil || x.handle(call) != nil {
			return
		}
	}
}

// write sends bytes, one at a time for Split.
func (x *session) write(p []byte) error {
	if !x.split {
		_, err := x.raw.Write(p)
		return err
	}
	for i := range p {
		if _, err := x.raw.Write(p[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// send sends a record, in fragments if Options.Fragment is set.
func (x *session) send(record []byte) error {
	size := x.server.opts.Fragment
	if size == 0 {
		return x.write(record)
	}
	var b []byte
	for rest := record[4:]; ; {
		n := min(size, len(rest))
		mark := uint32(n)
		if n == len(rest) {
			mark |= 1 << 31
		}
		b = append(binary.BigEndian.AppendUint32(b, mark), rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			return x.write(b)
		}
	}
}

func (x *session) reply(xid uint32, results func([]byte) []byte) error {
	return x.send(nfs3.AppendReply(nil, xid, results))
}

// replyOK replies with NFS3_OK and the results.
func (x *session) replyOK(xid uint32, results func([]byte) []byte) error {
	return x.reply(xid, func(b []byte) []byte { return results(xdr.AppendUint32(b, uint32(nfs3.OK))) })
}

// status replies with an error status. All procedures except GETATTR and MNT have empty attributes
// after it.
func (x *session) status(c nfs3.Call, s nfs3.Status) error {
	return x.reply(c.XID, func(b []byte) []byte {
		if b = xdr.AppendUint32(b, uint32(s)); c.Program == nfs3.ProgramNFS &&
			c.Procedure != nfs3.Getattr.Number {
			b = xdr.AppendBool(b, false)
		}
		return b
	})
}

// replyError replies with the status for err.
func (x *session) replyError(c nfs3.Call, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return x.status(c, nfs3.ErrNoEnt)
	case errors.Is(err, fs.ErrPermission):
		return x.status(c, nfs3.ErrAcces)
	}
	return x.status(c, nfs3.ErrIO)
}

// handle handles one call.
func (x *session) handle(c nfs3.Call) error {
	o := &x.server.opts
	has := map[uint32]uint32{nfs3.ProgramNFS: o.Version, nfs3.ProgramMount: 3,
		nfs3.ProgramPortmap: 2}[c.Program]
	switch {
	case has == 0 || slices.Contains(o.Without, c.Program):
		return x.send(nfs3.AppendRejection(nil, c.XID, nfs3.ProgUnavail, nil))
	case c.Version != has:
		versions := func(b []byte) []byte { return xdr.AppendUint32(xdr.AppendUint32(b, has), has) }
		return x.send(nfs3.AppendRejection(nil, c.XID, nfs3.ProgMismatch, versions))
	case c.Procedure == nfs3.Null.Number:
		return x.reply(c.XID, nil)
	case c.Program != nfs3.ProgramPortmap && o.Users != nil && !slices.Contains(o.Users, c.Cred.UID):
		return x.send(nfs3.AppendDenied(nil, c.XID, nfs3.AuthTooWeak))
	}
	switch c.Program {
	case nfs3.ProgramPortmap:
		return x.portmap(c)
	case nfs3.ProgramMount:
		return x.mount(c)
	}
	return x.nfs(c)
}

// printable escapes line ends and NUL in log lines.
var printable = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\x00", `\0`)

// note adds a call to the log. It returns the effect of a fault armed for the call.
func (x *session) note(c nfs3.Call, p nfs3.Proc, arg string) (over bool, err error) {
	x.conn.Note(printable.Replace(strings.TrimSpace(p.Name + " " + arg)))
	if f := x.conn.TakeFor(); f.Fault != servers.None {
		return x.strike(f, c)
	}
	return false, nil
}

func (x *session) unknown(c nfs3.Call) error {
	return x.send(nfs3.AppendRejection(nil, c.XID, nfs3.ProcUnavail, nil))
}

func (x *session) portmap(c nfs3.Call) error {
	if c.Procedure != nfs3.Getport.Number {
		return x.unknown(c)
	}
	if over, err := x.note(c, nfs3.Getport, ""); over {
		return err
	}
	port := x.server.opts.MountPort
	if port == 0 {
		port = x.server.Port
	}
	return x.reply(c.XID, func(b []byte) []byte { return xdr.AppendUint32(b, uint32(port)) })
}

func (x *session) mount(c nfs3.Call) error {
	s := x.server
	switch c.Procedure {
	case nfs3.Export.Number:
		if s.opts.Quiet {
			return x.unknown(c)
		}
		if over, err := x.note(c, nfs3.Export, ""); over {
			return err
		}
		return x.reply(c.XID, func(b []byte) []byte { return nfs3.AppendExports(b, s.opts.Exports) })
	case nfs3.Umnt.Number:
		name := c.Args.Text(nfs3.MaxPath)
		s.mu.Lock()
		s.mounted[name]--
		s.mu.Unlock()
		return x.reply(c.XID, nil)
	case nfs3.Mnt.Number:
	default:
		return x.unknown(c)
	}
	name := c.Args.Text(nfs3.MaxPath)
	if over, err := x.note(c, nfs3.Mnt, name); over {
		return err
	}
	if !slices.Contains(s.opts.Exports, name) {
		return x.status(c, nfs3.ErrAcces)
	}
	s.mu.Lock()
	s.mounted[name]++
	s.mu.Unlock()
	m := nfs3.MountResult{Handle: s.handle(local(name)), Flavors: s.opts.Flavors}
	if m.Flavors == nil {
		m.Flavors = []uint32{nfs3.FlavorSys}
	}
	return x.replyOK(c.XID, m.Append)
}

// public resolves a path from the public directory (RFC 2054, section 6). It follows symbolic links
// except the last.
func (x *session) public(name string) (string, bool) {
	if x.server.opts.Public == "" {
		return "", false
	}
	name = uri.UnescapeRaw(name)
	at := x.server.opts.Public
	if strings.HasPrefix(name, "/") {
		at = "."
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		if text, err := fs.ReadLink(x.server.opts.Tree, at); err == nil && i < len(parts)-1 {
			if at = path.Join(path.Dir(at), text); strings.HasPrefix(text, "/") {
				at = local(text)
			}
		}
	}
	return local(at), x.server.exported(local(at))
}

func (x *session) nfs(c nfs3.Call) error {
	s := x.server
	handle := nfs3.ParseHandle(c.Args)
	name, known := s.path(handle)
	switch {
	case c.Args.Err() != nil:
		return x.send(nfs3.AppendRejection(nil, c.XID, nfs3.GarbageArgs, nil))
	case c.Procedure == nfs3.Lookup.Number && handle == "":
		return x.lookup(c, "", c.Args.Text(nfs3.MaxPath))
	case handle == "":
		return x.status(c, nfs3.ErrBadHandle)
	case !known:
		return x.status(c, nfs3.ErrStale)
	}
	switch c.Procedure {
	case nfs3.Getattr.Number:
		if over, err := x.note(c, nfs3.Getattr, name); over {
			return err
		}
		info, err := fs.Lstat(s.opts.Tree, name)
		if err != nil {
			return x.replyError(c, err)
		}
		a := attr(name, info)
		return x.replyOK(c.XID, a.Append)
	case nfs3.Lookup.Number:
		return x.lookup(c, name, c.Args.Text(nfs3.MaxName))
	case nfs3.Readlink.Number:
		if over, err := x.note(c, nfs3.Readlink, name); over {
			return err
		}
		text, err := fs.ReadLink(s.opts.Tree, name)
		if err != nil {
			return x.status(c, nfs3.ErrInval)
		}
		return x.replyOK(c.XID,
			func(b []byte) []byte { return xdr.AppendOpaque(xdr.AppendBool(b, false), text) })
	case nfs3.Read.Number:
		return x.read(c, handle, name, c.Args.Uint64(), c.Args.Uint32())
	case nfs3.Readdir.Number:
		return x.readdir(c, handle, name, false)
	case nfs3.Readdirplus.Number:
		if s.opts.NoPlus {
			return x.status(c, nfs3.ErrNotSupp)
		}
		return x.readdir(c, handle, name, true)
	}
	return x.unknown(c)
}

// lookup looks up a name in dir. If dir is "", it uses the public directory.
func (x *session) lookup(c nfs3.Call, dir, name string) error {
	if over, err := x.note(c, nfs3.Lookup, name); over {
		return err
	}
	at := path.Join(dir, name)
	if dir == "" {
		var ok bool
		if at, ok = x.public(name); !ok && x.server.opts.Public == "" {
			return x.status(c, nfs3.ErrBadHandle)
		} else if !ok {
			return x.status(c, nfs3.ErrAcces)
		}
	} else if name == "" || strings.Contains(name, "/") {
		return x.status(c, nfs3.ErrInval)
	}
	info, err := fs.Lstat(x.server.opts.Tree, at)
	if err != nil {
		return x.replyError(c, err)
	}
	a := attr(at, info)
	return x.replyOK(c.XID, func(b []byte) []byte {
		b = nfs3.AppendHandle(b, x.server.handle(at))
		return nfs3.AppendOptAttr(nfs3.AppendOptAttr(b, x.optional(&a)), nil)
	})
}

// optional returns a, or nil with Options.NoAttr.
func (x *session) optional(a *nfs3.Attr) *nfs3.Attr {
	if x.server.opts.NoAttr {
		return nil
	}
	return a
}

// begin takes the failure for a file or directory at its first read.
func (x *session) begin(p nfs3.Proc, handle, name string, first bool) *servers.Failure {
	if first || !x.seen[handle] {
		x.seen[handle] = true
		x.conn.Begin(p.Name + " " + name)
		if f := x.conn.Take(); f.Fault != servers.None {
			x.faults[handle] = &f
		}
	}
	return x.faults[handle]
}

func (x *session) read(c nfs3.Call, handle, name string, offset uint64, size uint32) error {
	f := x.begin(nfs3.Read, handle, name, offset == 0)
	file, all, err := x.open(name)
	if err != nil {
		return x.replyError(c, err)
	}
	defer file.Close()
	info, err := fs.Lstat(x.server.opts.Tree, name)
	if err != nil {
		return x.replyError(c, err)
	}
	a := attr(name, info)
	x.attr = x.optional(&a)
	if most := x.server.opts.MaxRead; most > 0 {
		size = min(size, uint32(most))
	}
	content := func(from, to uint64) []byte {
		from, to = min(from, all), min(to, all)
		p := make([]byte, to-min(from, to))
		n, _ := file.ReadAt(p, int64(from))
		return p[:n]
	}
	data := content(offset, offset+uint64(size))
	if f != nil {
		if place := uint64(f.Place(int64(all))); offset+uint64(len(data)) >= place {
			return x.strikeIn(f, c, handle, content(offset, place), data)
		}
	}
	return x.data(c, data, offset+uint64(len(data)) >= all)
}

// A file supports random access.
type file interface {
	fs.File
	io.ReaderAt
}

// open opens a file of the tree and returns its size.
func (x *session) open(name string) (file, uint64, error) {
	f, err := x.server.opts.Tree.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if at, ok := f.(file); ok && err == nil && info.Mode().IsRegular() {
		return at, uint64(info.Size()), nil
	}
	f.Close()
	return nil, 0, errors.Join(err, fs.ErrInvalid)
}

func (x *session) data(c nfs3.Call, data []byte, eof bool) error {
	x.server.mu.Lock()
	x.server.served += int64(len(data))
	x.server.mu.Unlock()
	return x.replyOK(c.XID, func(b []byte) []byte {
		b = xdr.AppendUint32(nfs3.AppendOptAttr(b, x.attr), uint32(len(data)))
		return xdr.AppendOpaque(xdr.AppendBool(b, eof), data)
	})
}

// strikeIn applies a fault within the content. Before is the content that still precedes the fault;
// data is the reply without the fault.
func (x *session) strikeIn(f *servers.Failure, c nfs3.Call, handle string, before, data []byte) error {
	switch f.Fault {
	case servers.Short, servers.Abort:
		switch {
		case len(before) > 0:
			return x.data(c, before, false)
		case f.Fault == servers.Short:
			return x.data(c, nil, true)
		}
		return x.status(c, nfs3.ErrIO)
	case servers.Drip:
		every := f.Every
		if every == 0 {
			every = 50 * time.Millisecond
		}
		time.Sleep(every)
		return x.data(c, data[:min(1, len(data))], false)
	case servers.Split:
		x.split = true
		defer func() { x.split = false }()
		delete(x.faults, handle)
		return x.data(c, data, false)
	case servers.Endless:
		return x.data(c, data, false)
	case servers.Noise:
	default:
		if len(before) > 0 {
			if err := x.data(c, before, false); err != nil {
				return err
			}
		}
	}
	delete(x.faults, handle)
	_, err := x.strike(*f, c)
	return err
}

// strike applies a fault that ends the connection or replaces the reply.
func (x *session) strike(f servers.Failure, c nfs3.Call) (over bool, err error) {
	switch f.Fault {
	case servers.Noise:
		return true, x.write(append([]byte("\xff\xfe no NFS\r\n\x00\xff\x7f"),
			bytes.Repeat([]byte("x"), 64)...))
	case servers.Abort:
		return true, x.status(c, nfs3.ErrIO)
	case servers.Stall:
		io.Copy(io.Discard, x.raw)
	case servers.Reset:
		if tcp, ok := x.raw.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		x.raw.Close()
	case servers.HalfClose:
		if tcp, ok := x.raw.(*net.TCPConn); ok {
			tcp.CloseWrite()
		}
		io.Copy(io.Discard, x.raw)
	case servers.Cut:
		if tcp, ok := x.raw.(*net.TCPConn); ok {
			tcp.CloseWrite()
		}
		x.raw.Close()
	default:
		return false, nil
	}
	return true, errEnd
}

// readdir handles READDIR, or READDIRPLUS if plus is set. Cookies are indexes in the sorted list.
func (x *session) readdir(c nfs3.Call, handle, name string, plus bool) error {
	p := nfs3.Readdir
	if plus {
		p = nfs3.Readdirplus
	}
	cookie, verifier := c.Args.Uint64(), c.Args.Uint64()
	if plus {
		c.Args.Uint32()
	}
	limit := int(min(c.Args.Uint32(), 1<<20))
	if cookie == 0 {
		x.conn.Note(printable.Replace(p.Name + " " + name))
	}
	f := x.begin(p, handle, name, cookie == 0)
	names, err := fs.ReadDir(x.server.opts.Tree, name)
	switch {
	case err != nil:
		return x.replyError(c, err)
	case cookie > uint64(len(names)) || cookie > 0 && verifier != 7:
		return x.status(c, nfs3.ErrBadCookie)
	}
	if f != nil && f.Fault == servers.Endless && cookie == uint64(len(names)) {
		cookie = 0
	} else if f != nil && f.Fault != servers.Endless && int64(cookie) >= f.Place(int64(len(names))) {
		delete(x.faults, handle)
		if over, err := x.strike(*f, c); over {
			return err
		}
	}
	l := nfs3.Listing{Verifier: 7}
	used := 200
	for i, e := range names[cookie:] {
		info, err := e.Info()
		if err != nil {
			continue
		}
		at := path.Join(name, e.Name())
		a := attr(at, info)
		m := nfs3.Entry{FileID: number(at), Name: e.Name(), Cookie: cookie + uint64(i) + 1}
		if plus && !x.server.opts.NoAttr {
			m.Attr, m.Handle = &a, x.server.handle(at)
		}
		if used += len(m.Append(nil, plus)) + 4; used > limit && len(l.Entries) > 0 {
			break
		}
		l.Entries = append(l.Entries, m)
		if batch := x.server.opts.Batch; batch > 0 && len(l.Entries) == batch {
			break
		}
	}
	l.EOF = cookie+uint64(len(l.Entries)) == uint64(len(names)) && (f == nil || f.Fault != servers.Endless)
	return x.replyOK(c.XID, func(b []byte) []byte { return l.Append(b, nil, plus) })
}
