package sftpd

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/treefile"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// A session handles the requests of one client.
type session struct {
	server     *Server
	conn       *servers.Conn // for its log and failures
	channel    ssh.Channel
	done       <-chan struct{} // closed when the client disconnects
	handles    map[string]*handle
	lastHandle int
	split      bool
}

// A handle is an open file or directory.
type handle struct {
	file    *treefile.File // nil for a directory
	names   []fs.DirEntry
	dir     string
	index   int // index in names
	failure servers.Failure
}

// close closes the file, if h is not nil.
func (h *handle) close() {
	if h != nil && h.file != nil {
		h.file.Close()
	}
}

// errEnd ends a session.
var errEnd = errors.New("sftpd: end")

// serve handles requests until the client closes the connection or a fault ends it.
func (x *session) serve() {
	defer func() {
		for _, h := range x.handles {
			h.close()
		}
	}()
	alloc := func(n int) []byte { return make([]byte, n) }
	if m, err := filexfer.Read(x.channel, alloc); err != nil || m.Type != filexfer.TypeInit {
		return
	}
	if x.server.opts.Output != "" {
		x.write([]byte(x.server.opts.Output))
		return
	}
	version := cmp.Or(x.server.opts.Version, filexfer.Version)
	if x.write(filexfer.Append(nil, filexfer.TypeVersion, version)) != nil {
		return
	}
	for {
		m, err := filexfer.Read(x.channel, alloc)
		if err != nil || x.handle(m) != nil {
			return
		}
	}
}

func (x *session) write(p []byte) error {
	if !x.split {
		_, err := x.channel.Write(p)
		return err
	}
	for i := range p {
		if _, err := x.channel.Write(p[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (x *session) reply(t filexfer.Type, id uint32, fields ...any) error {
	return x.write(filexfer.Append(nil, t, id, fields...))
}

func (x *session) status(id uint32, code filexfer.Code, text string) error {
	return x.reply(filexfer.TypeStatus, id, uint32(code), text, "")
}

// replyError replies with the status for err.
func (x *session) replyError(id uint32, err error) error {
	switch {
	case err == io.EOF:
		return x.status(id, filexfer.CodeEOF, "End of file")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return x.status(id, filexfer.CodeNoSuchFile, "No such file")
	case errors.Is(err, fs.ErrPermission):
		return x.status(id, filexfer.CodePermissionDenied, "Permission denied")
	}
	return x.status(id, filexfer.CodeFailure, "Failure")
}

// printable escapes line ends and NUL in log lines.
var printable = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\x00", `\0`)

// handle handles one request.
func (x *session) handle(m filexfer.Message) error {
	f := m.Fields()
	arg := f.Text() // all requests start with a name or handle
	if f.Err() != nil {
		return x.status(m.ID, filexfer.CodeBadMessage, "Bad message")
	}
	if refuse := x.server.opts.Refuse; refuse != nil {
		if code := refuse(byte(m.Type), len(x.handles) > 0); code != 0 {
			return x.status(m.ID, filexfer.Code(code), "refused")
		}
	}
	switch m.Type {
	case filexfer.TypeRead:
		return x.read(m.ID, x.handles[arg], f.Uint64(), f.Uint32())
	case filexfer.TypeReaddir:
		return x.readdir(m.ID, x.handles[arg])
	case filexfer.TypeClose:
		x.handles[arg].close()
		delete(x.handles, arg)
		return x.status(m.ID, filexfer.CodeOK, "")
	case filexfer.TypeExtended:
		return x.checkFile(m.ID, arg, x.handles[f.Text()])
	case filexfer.TypeFstat:
		h := x.handles[arg]
		if h == nil {
			return x.status(m.ID, filexfer.CodeFailure, "no such handle")
		}
		info, err := fs.Stat(x.server.opts.Tree, h.dir)
		if err != nil {
			return x.replyError(m.ID, err)
		}
		return x.reply(filexfer.TypeAttrs, m.ID, attrs(info))
	}
	x.conn.Note(printable.Replace(m.Type.String() + " " + arg))
	if fault := x.conn.TakeFor(); fault.Fault != servers.None {
		if err, handled := x.applyFault(fault, m.ID); handled {
			return err
		}
	}
	tree, name := x.server.opts.Tree, treePath(arg)
	switch m.Type {
	case filexfer.TypeStat, filexfer.TypeLstat:
		look := fs.Stat
		if m.Type == filexfer.TypeLstat {
			look = fs.Lstat
		}
		info, err := look(tree, name)
		if err != nil {
			return x.replyError(m.ID, err)
		}
		return x.reply(filexfer.TypeAttrs, m.ID, attrs(info))
	case filexfer.TypeReadlink:
		target, err := fs.ReadLink(tree, name)
		if err != nil {
			return x.replyError(m.ID, err)
		}
		return x.reply(filexfer.TypeName, m.ID, uint32(1), target, target, filexfer.Attrs{})
	case filexfer.TypeRealpath:
		return x.reply(filexfer.TypeName, m.ID, uint32(1), "/"+strings.TrimPrefix(name, "."), "",
			filexfer.Attrs{})
	case filexfer.TypeOpen:
		file, err := treefile.Open(tree, name)
		if err != nil {
			return x.replyError(m.ID, err)
		}
		return x.open(m.ID, &handle{file: file, dir: name, failure: x.conn.Take()})
	case filexfer.TypeOpendir:
		names, err := fs.ReadDir(tree, name)
		if err != nil {
			return x.replyError(m.ID, err)
		}
		return x.open(m.ID, &handle{names: names, dir: name, failure: x.conn.Take()})
	}
	return x.status(m.ID, filexfer.CodeOpUnsupported, "Operation unsupported")
}

// treePath returns the name in the tree. The root is also the login directory.
func treePath(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return "."
	}
	return name
}

func (x *session) open(id uint32, h *handle) error {
	x.lastHandle++
	name := strconv.Itoa(x.lastHandle)
	x.handles[name] = h
	return x.reply(filexfer.TypeHandle, id, name)
}

// checkFile replies to the extension check-file, in the form of the draft or of Paramiko.
func (x *session) checkFile(id uint32, extension string, h *handle) error {
	x.conn.Note("EXTENDED " + printable.Replace(extension))
	if h == nil || h.file == nil || x.server.opts.CheckFile == nil {
		return x.status(id, filexfer.CodeOpUnsupported, "Operation unsupported")
	}
	content, err := h.file.Section(0, h.file.Size)
	if err != nil {
		return x.replyError(id, err)
	}
	algorithm, sum := x.server.opts.CheckFile(extension, content)
	if algorithm == "" {
		return x.status(id, filexfer.CodeOpUnsupported, "Operation unsupported")
	}
	var fields []any
	if extension == "check-file" {
		fields = append(fields, extension)
	}
	reply := filexfer.Append(nil, filexfer.TypeExtendedReply, id, append(fields, algorithm)...)
	reply = append(reply, sum...) // without a length
	binary.BigEndian.PutUint32(reply, uint32(len(reply)-4))
	return x.write(reply)
}

func (x *session) read(id uint32, h *handle, offset uint64, size uint32) error {
	if h == nil || h.file == nil {
		return x.status(id, filexfer.CodeFailure, "no such handle")
	}
	size = min(size, filexfer.MaxData)
	if most := x.server.opts.MaxRead; most > 0 {
		size = min(size, uint32(most))
	}
	start := int64(min(offset, uint64(h.file.Size)))
	data, err := h.file.Section(start, start+int64(size))
	if err != nil {
		return x.replyError(id, err)
	}
	if f := h.failure; f.Fault != servers.None {
		place := f.Place(h.file.Size)
		if start+int64(len(data)) >= place || len(data) == 0 {
			before := data[:min(max(place-start, 0), int64(len(data)))]
			return x.applyContentFault(f, h, id, before, data)
		}
	}
	if len(data) == 0 {
		return x.replyError(id, io.EOF)
	}
	x.server.served.Add(int64(len(data)))
	return x.reply(filexfer.TypeData, id, data)
}

// applyContentFault applies a fault within the content. Before is the content that still precedes
// the fault; data is the reply without the fault.
func (x *session) applyContentFault(f servers.Failure, h *handle, id uint32, before, data []byte) error {
	switch f.Fault {
	case servers.Short, servers.Abort:
		switch {
		case len(before) > 0:
			return x.reply(filexfer.TypeData, id, before)
		case f.Fault == servers.Short:
			return x.replyError(id, io.EOF)
		}
		return x.status(id, filexfer.CodeFailure, "Input/output error")
	case servers.Drip:
		if len(data) == 0 {
			return x.replyError(id, io.EOF)
		}
		every := f.Every
		if every == 0 {
			every = 50 * time.Millisecond
		}
		select {
		case <-time.After(every):
		case <-x.done:
			return errEnd
		}
		return x.reply(filexfer.TypeData, id, data[:1])
	case servers.Split:
		x.split = true
		defer func() { x.split = false }()
		h.failure = servers.Failure{}
		if len(data) == 0 {
			return x.replyError(id, io.EOF)
		}
		return x.reply(filexfer.TypeData, id, data)
	case servers.Endless:
		h.failure = servers.Failure{}
		all, err := h.file.Section(0, h.file.Size)
		if err != nil {
			return x.replyError(id, err)
		}
		h.file.Close()
		h.file = treefile.New(append(all, all...))
		return x.reply(filexfer.TypeData, id, data)
	case servers.Noise:
	default:
		if len(before) > 0 {
			if err := x.reply(filexfer.TypeData, id, before); err != nil {
				return err
			}
		}
	}
	h.failure = servers.Failure{}
	err, _ := x.applyFault(f, id)
	return err
}

// applyFault applies a fault that ends the connection or replaces the reply.
func (x *session) applyFault(f servers.Failure, id uint32) (err error, handled bool) {
	raw := x.conn.NetConn()
	switch f.Fault {
	case servers.Noise:
		return x.write([]byte("\xff\xfe no SFTP\r\n\x00\xff\x7f")), true
	case servers.Abort:
		return x.status(id, filexfer.CodeFailure, "Input/output error"), true
	case servers.Short:
		return x.replyError(id, io.EOF), true
	case servers.Stall:
		<-x.done
	case servers.Reset:
		if tcp, ok := raw.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		raw.Close()
	case servers.HalfClose:
		if tcp, ok := raw.(*net.TCPConn); ok {
			tcp.CloseWrite()
		}
		<-x.done
	case servers.Cut:
		raw.Close()
	default:
		return nil, false
	}
	return errEnd, true
}

func (x *session) readdir(id uint32, h *handle) error {
	if h == nil || h.file != nil {
		return x.status(id, filexfer.CodeFailure, "no such handle")
	}
	batch := x.server.opts.Batch
	if batch <= 0 {
		batch = 100
	}
	if f := h.failure; f.Fault == servers.Endless && h.index == len(h.names) && h.index > 0 {
		h.index = 0
	} else if f.Fault != servers.None && f.Fault != servers.Endless &&
		h.index >= int(f.Place(int64(len(h.names)))) {
		h.failure = servers.Failure{}
		if err, handled := x.applyFault(f, id); handled {
			return err
		}
	}
	names := h.names[h.index:min(h.index+batch, len(h.names))]
	fields := []any{uint32(0)}
	n := uint32(0)
	for _, e := range names {
		h.index++
		info, err := e.Info()
		if err != nil {
			continue
		}
		n++
		long, a := info.Mode().String()+" "+e.Name(), attrs(info)
		if x.server.opts.NoAttributes {
			long, a = longName(info), filexfer.Attrs{}
		}
		fields = append(fields, e.Name(), long, a)
	}
	if n == 0 {
		return x.replyError(id, io.EOF)
	}
	fields[0] = n
	return x.reply(filexfer.TypeName, id, fields...)
}

// longName returns a line as of ls -l.
func longName(info fs.FileInfo) string {
	mode := []byte(info.Mode().String())
	if mode[0] == 'L' {
		mode[0] = 'l'
	}
	return string(mode) + " 1 1000 1000 " + strconv.FormatInt(info.Size(), 10) + " Jan 1 2020 " + info.Name()
}

// attrs returns the attributes of a file.
func attrs(info fs.FileInfo) filexfer.Attrs {
	a := filexfer.Attrs{
		Flags: filexfer.AttrSize | filexfer.AttrUIDGID | filexfer.AttrPermissions | filexfer.AttrACModTime,
		Size:  uint64(info.Size()), UID: 1000, GID: 1000, Mode: uint32(info.Mode().Perm()),
	}
	if t := info.ModTime(); !t.IsZero() {
		a.MTime = uint32(t.Unix())
		a.ATime = a.MTime
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		a.Mode |= filexfer.ModeDir
		a.Size = 4096
	case mode&fs.ModeSymlink != 0:
		a.Mode |= filexfer.ModeLink
	case mode&fs.ModeNamedPipe != 0:
		a.Mode |= filexfer.ModeFIFO
	default:
		a.Mode |= filexfer.ModeRegular
	}
	return a
}
