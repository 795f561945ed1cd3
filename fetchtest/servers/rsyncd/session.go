package rsyncd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/rsync"
)

const (
	seed      = 0x1234567
	challenge = "AbCdEfGhIjKlMnOpQrStUv"
	// maxArguments limits the arguments of a client, in bytes.
	maxArguments = 64 << 10
	// chunk is the size of a token, in bytes (CHUNK_SIZE).
	chunk = 32 << 10
)

// A session handles one client.
type session struct {
	server   *Server
	conn     *servers.Conn
	protocol int
	in       *rsync.Decoder
}

func (x *session) serve() {
	o, c := &x.server.opts, x.conn
	if c.Reply("%s", rsync.Greeting(o.Protocol, o.Digests)) != nil {
		return
	}
	if o.Message != "" {
		c.Printf("%s\n", o.Message)
	}
	line, err := c.ReadText()
	if err != nil {
		return
	}
	version, _, err := rsync.ParseGreeting(line)
	if err != nil {
		c.Reply("@ERROR: protocol startup error")
		return
	}
	x.protocol = min(version, o.Protocol)
	module, err := c.ReadLine()
	switch {
	case err != nil:
	case module == "" || module == "#list":
		c.Printf("%-15s\t%s", o.Module, o.Comment)
		c.Reply("@RSYNCD: EXIT")
	case module != o.Module:
		c.Reply("@ERROR: Unknown module '%s'", module)
	case o.Users != nil && !x.login():
		c.Reply("@ERROR: auth failed on module %s", module)
	default:
		if c.Reply("@RSYNCD: OK") == nil {
			x.transfer()
		}
	}
}

func (x *session) login() bool {
	o, c := &x.server.opts, x.conn
	c.Reply("@RSYNCD: AUTHREQD %s", challenge)
	line, err := c.ReadText()
	if err != nil {
		return false
	}
	x.server.logins.Add(1)
	user, response, _ := strings.Cut(line, " ")
	password, ok := o.Users[user]
	return ok && response == rsync.LoginResponse(rsync.LoginDigest(x.protocol, o.Digests), password, challenge)
}

// arguments reads the arguments of the client.
func (x *session) arguments() (args []string, err error) {
	end := byte('\n')
	if x.protocol >= 30 {
		end = 0
	}
	var arg []byte
	for range maxArguments {
		var b [1]byte
		if _, err := io.ReadFull(x.conn, b[:]); err != nil {
			return nil, err
		}
		switch {
		case b[0] != end:
			arg = append(arg, b[0])
		case len(arg) == 0:
			return args, nil
		default:
			args, arg = append(args, string(arg)), nil
		}
	}
	return nil, errors.New("rsyncd: too many arguments")
}

// literal matches the patterns that a name is sent as.
var literal = strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?", `\[`, "[", "[ ]", " ")

func (x *session) transfer() {
	args, err := x.arguments()
	if err != nil || len(args) < 2 {
		return
	}
	name := args[len(args)-1]
	if strings.ContainsAny(name, "*?[") {
		name = literal.Replace(name)
	}
	x.conn.Note(strings.Join(args, " "))
	var b []byte
	if x.protocol >= 30 {
		b = rsync.AppendVarint(b, x.protocol, 0)
	}
	if _, err := x.conn.Write(rsync.AppendInt(b, seed)); err != nil {
		return
	}
	input := io.Reader(x.conn)
	if x.protocol >= 30 {
		input = &rsync.Frames{Source: x.conn, Message: func(rsync.Tag, []byte) error { return nil }}
	}
	x.in = rsync.NewDecoder(input, x.protocol)
	for size := x.in.Int(); size != 0; size = x.in.Int() {
		x.in.Text(size, rsync.MaxPath) // a rule
	}
	x.send(strings.TrimPrefix(name, x.server.opts.Module))
}

func frame(b []byte) []byte { return rsync.AppendFrame(nil, rsync.Data, b) }

func (x *session) message(tag rsync.Tag, text string) {
	x.conn.Write(rsync.AppendFrame(nil, tag, []byte(text)))
}

// send sends the file list of a path and then the file, if the client requests it.
func (x *session) send(name string) {
	o := &x.server.opts
	for _, m := range o.Messages {
		x.message(m.Tag, m.Payload)
	}
	isList := strings.HasSuffix(name, "/")
	file := path.Join(".", name)
	items, err := x.items(file, isList)
	if err != nil {
		x.message(rsync.ErrorXfer, complaint("link_stat", file, err))
	}
	if o.Listed != nil {
		items = o.Listed(items)
	}
	if !x.sendList(items, isList) || len(items) == 0 {
		return
	}
	before, _ := rsync.Phases(x.protocol)
	for n := 0; n < before; {
		switch {
		case x.in.File():
			if !x.sendFile(file) {
				return
			}
		case x.in.Err() != nil:
			return
		default:
			n++
			x.conn.Write(frame(rsync.AppendDone(nil, x.protocol)))
		}
	}
	x.end()
}

// end sends the statistics and takes part in the end of the session.
func (x *session) end() {
	count := 3
	if x.protocol >= 29 {
		count = 5
	}
	var b []byte
	for range count {
		b = rsync.AppendLong(b, x.protocol, 1<<40, 3)
	}
	x.conn.Write(frame(b))
	if x.protocol >= 31 {
		x.in.File()
		x.conn.Write(frame(rsync.AppendDone(nil, x.protocol)))
	}
	x.in.File()
	if x.in.Err() == nil {
		x.server.ends.Add(1)
	}
}

func complaint(what, file string, err error) string {
	reason := "Input/output error (5)"
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		reason = "No such file or directory (2)"
	case errors.Is(err, fs.ErrPermission):
		reason = "Permission denied (13)"
	}
	return fmt.Sprintf("rsync: [sender] %s %q failed: %s\n", what, file, reason)
}

// items returns the item of a file or, for a list, those of a directory and of its members.
func (x *session) items(name string, isList bool) ([]rsync.Item, error) {
	tree := x.server.opts.Tree
	info, err := fs.Stat(tree, name)
	if err != nil {
		return nil, err
	}
	if !isList {
		return []rsync.Item{x.item(path.Base(name), info, "")}, nil
	}
	entries, err := fs.ReadDir(tree, name)
	if err != nil {
		return nil, err
	}
	items := []rsync.Item{x.item(".", info, "")}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			target := ""
			if info.Mode()&fs.ModeSymlink != 0 {
				target, _ = fs.ReadLink(tree, path.Join(name, e.Name()))
			}
			items = append(items, x.item(e.Name(), info, target))
		}
	}
	return items, nil
}

func (x *session) item(name string, info fs.FileInfo, target string) rsync.Item {
	i := rsync.Item{Name: name, Size: info.Size(), ModTime: info.ModTime(), Target: target,
		Mode: uint32(info.Mode().Perm())}
	if info.ModTime().Unix() < 0 {
		i.ModTime = i.ModTime.AddDate(1969, 0, 0) // version 27 has no times before 1970
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		i.Mode |= rsync.TypeDir
	case mode&fs.ModeSymlink != 0:
		i.Mode |= rsync.TypeLink
	case mode&fs.ModeNamedPipe != 0:
		i.Mode |= rsync.TypeFIFO
	default:
		i.Mode |= rsync.TypeFile
	}
	return i
}

// sendList sends a file list, in a frame for each item. That of a directory is content. It returns false
// if the session is over.
func (x *session) sendList(items []rsync.Item, isList bool) bool {
	var pieces [][]byte
	for _, i := range items {
		pieces = append(pieces, frame(rsync.AppendItem(nil, x.protocol, i)))
	}
	if isList && len(items) > 0 && !x.content(x.conn.Take(), pieces) {
		return false
	} else if !isList {
		for _, p := range pieces {
			x.conn.Write(p)
		}
	}
	_, err := x.conn.Write(frame(rsync.AppendListEnd(nil, x.protocol, x.server.opts.Errors)))
	return err == nil
}

// content sends pieces as the content of a reply. It returns false if a fault ended the session.
func (x *session) content(f servers.Failure, pieces [][]byte) bool {
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	b, ok := x.conn.ContentWith(f, int64(size))
	if !ok {
		return false
	}
	for _, p := range pieces {
		if _, err := b.Write(p); err != nil {
			return false
		}
	}
	end, err := b.End()
	return err == nil && end == servers.None
}

// sendFile sends a file. It returns false if the session is over.
func (x *session) sendFile(name string) bool {
	o := &x.server.opts
	content, err := fs.ReadFile(o.Tree, name)
	if err != nil {
		x.message(rsync.ErrorXfer, complaint("send_files failed to open", name, err))
		if x.protocol >= 30 {
			x.message(rsync.NoSend, "\x00\x00\x00\x00")
		}
		return true
	}
	if o.Change != nil {
		content = o.Change(content)
	}
	f := x.conn.Take()
	if f.Fault == servers.Short || f.Fault == servers.Abort {
		content = content[:f.Place(int64(len(content)))]
	}
	sum := rsync.NewSum(x.protocol, seed)
	sum.Write(content)
	end := sum.Sum(rsync.AppendInt(nil, 0))
	if o.Damage || f.Fault == servers.Abort {
		end[len(end)-1]++
	}
	pieces := [][]byte{frame(rsync.AppendFile(nil, x.protocol))}
	for rest := content; len(rest) > 0; {
		n := min(chunk, len(rest))
		pieces = append(pieces, frame(append(rsync.AppendInt(nil, int32(n)), rest[:n]...)))
		rest = rest[n:]
	}
	if f.Fault == servers.Short || f.Fault == servers.Abort {
		f = servers.Failure{}
	}
	return x.content(f, append(pieces, frame(end)))
}
