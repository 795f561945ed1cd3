package smbd

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// maxMessage bounds a message from a client, in bytes.
const maxMessage = 1 << 20

var le = binary.LittleEndian

// A session answers the requests of one client.
type session struct {
	server    *Server
	conn      *servers.Conn
	hash      smb2.Hash
	before    smb2.Hash // of the negotiation
	challenge []byte
	signer    *smb2.Signer
	id        uint64
	credits   int
	pipe      bool // the share is IPC$
	handles   map[uint64]*handle
	next      uint64
}

// A handle is a file or directory that is open.
type handle struct {
	content []byte
	names   []fs.DirEntry // of a directory
	dir     bool
	pipe    bool
	at      int // of names
	failure servers.Failure
}

// errEnd ends a session.
var errEnd = errors.New("smbd: end")

// serve answers requests until the client or a fault ends it.
func (x *session) serve() {
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(x.conn, head); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(head)
		if n < smb2.HeaderSize || n > maxMessage {
			return
		}
		msg := make([]byte, n)
		if _, err := io.ReadFull(x.conn, msg); err != nil {
			return
		}
		h, err := smb2.ParseHeader(msg)
		if err != nil || x.signer != nil && !x.signer.Verify(msg) || x.answer(h, msg) != nil {
			return
		}
	}
}

// reply sends an answer.
func (x *session) reply(h smb2.Header, status smb2.Status, body []byte) error {
	cost := int(max(h.Charge, 1))
	x.credits -= cost
	granted := max(0, min(int(h.Credits), x.server.opts.Credits-x.credits))
	x.credits += granted
	h.Credits, h.Status, h.Flags = uint16(granted), status, smb2.FlagResponse
	if body == nil {
		body = []byte{9, 0, 0, 0, 0, 0, 0, 0, 0}
	}
	msg := append(h.Append(nil), body...)
	if x.server.opts.Dialect == smb2.Dialect311 && (h.Command == smb2.Negotiate || h.Command == smb2.SessionSetup && status != smb2.StatusOK) {
		x.hash.Add(msg)
	}
	if x.signer != nil {
		x.signer.Sign(msg)
	}
	if forge := x.server.opts.Forge; forge != nil {
		forge(h.Command, msg)
	}
	_, err := x.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...))
	return err
}

// failed answers with what err means.
func (x *session) failed(h smb2.Header, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x.reply(h, smb2.StatusNameNotFound, nil)
	case errors.Is(err, fs.ErrInvalid):
		return x.reply(h, smb2.StatusNameInvalid, nil)
	case errors.Is(err, fs.ErrPermission):
		return x.reply(h, smb2.StatusAccessDenied, nil)
	}
	return x.reply(h, smb2.StatusUnexpectedIOError, nil)
}

// text returns a part of a message as text.
func text(msg []byte, at int) string {
	if len(msg) < at+4 {
		return ""
	}
	b, err := smb2.Part(msg, uint32(le.Uint16(msg[at:])), uint32(le.Uint16(msg[at+2:])))
	if err != nil {
		return ""
	}
	return smb2.Name(b)
}

// answer answers one request.
func (x *session) answer(h smb2.Header, msg []byte) error {
	body := msg[smb2.HeaderSize:]
	if len(body) < 24 && h.Command != smb2.TreeConnect {
		return errEnd
	}
	arg := ""
	switch h.Command {
	case smb2.TreeConnect:
		arg = text(msg, smb2.HeaderSize+4)
	case smb2.Create:
		arg = text(msg, smb2.HeaderSize+44)
	}
	x.conn.Note(strings.TrimSpace(h.Command.String() + " " + printable.Replace(arg)))
	if h.Command != smb2.Create && h.Command != smb2.Read {
		if f := x.conn.TakeFor(); f.Fault != servers.None {
			if err, over := x.strike(f, h); over {
				return err
			}
		}
	}
	switch h.Command {
	case smb2.Negotiate:
		return x.negotiate(h, msg)
	case smb2.SessionSetup:
		return x.setup(h, msg)
	case smb2.TreeConnect:
		share := arg[strings.LastIndexByte(arg, '\\')+1:]
		x.pipe = strings.EqualFold(share, "IPC$")
		if !x.pipe && !strings.EqualFold(share, x.server.opts.Share) {
			return x.reply(h, smb2.StatusBadShare, nil)
		}
		h.TreeID = 1
		kind := byte(1)
		if x.pipe {
			kind = 2
		}
		return x.reply(h, smb2.StatusOK, []byte{16, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 1, 0x1f, 0})
	case smb2.Create:
		return x.create(h, arg, le.Uint32(body[24:]))
	case smb2.Close:
		delete(x.handles, le.Uint64(body[8:]))
		return x.reply(h, smb2.StatusOK, append([]byte{60, 0}, make([]byte, 58)...))
	case smb2.Read:
		return x.read(h, x.handles[le.Uint64(body[16:])], le.Uint64(body[8:]), le.Uint32(body[4:]))
	case smb2.QueryDirectory:
		return x.list(h, x.handles[le.Uint64(body[8:])])
	case smb2.Ioctl:
		return x.transceive(h, body, msg)
	}
	return x.reply(h, smb2.StatusNotSupported, nil)
}

// printable keeps a log a list of lines.
var printable = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\x00", `\0`)

func (x *session) negotiate(h smb2.Header, msg []byte) error {
	o := &x.server.opts
	x.hash.Add(msg)
	b := []byte{65, 0, 1, 0}
	b = le.AppendUint16(b, o.Dialect)
	b = le.AppendUint16(b, 0)
	b = append(b, make([]byte, 16)...)
	caps := uint32(smb2.LargeMTU)
	if o.Dialect == smb2.Dialect202 {
		caps = 0
	}
	for _, v := range []uint32{caps, 1 << 20, 1 << 20, 1 << 20} {
		b = le.AppendUint32(b, v)
	}
	b = append(b, make([]byte, 16)...)
	b = append(b, smb2.HeaderSize+64, 0, 0, 0, 0, 0, 0, 0)
	if o.Dialect == smb2.Dialect311 {
		b[6] = 2
		le.PutUint32(b[60:], smb2.HeaderSize+64)
		b = append(b, 1, 0, 38, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0)
		b = append(b, make([]byte, 34)...) // salt, and up to the next context
		algorithm := byte(smb2.SignGMAC)
		if o.CMAC {
			algorithm = smb2.SignCMAC
		}
		b = append(b, 8, 0, 4, 0, 0, 0, 0, 0, 1, 0, algorithm, 0)
	}
	err := x.reply(h, smb2.StatusOK, b)
	x.before = x.hash
	return err
}

func (x *session) setup(h smb2.Header, msg []byte) error {
	o := &x.server.opts
	token, err := smb2.Part(msg, uint32(le.Uint16(msg[smb2.HeaderSize+12:])), uint32(le.Uint16(msg[smb2.HeaderSize+14:])))
	if err != nil {
		return err
	}
	ntlm, err := smb2.NTLMToken(token)
	if err != nil {
		return err
	}
	if h.SessionID == 0 {
		x.hash = x.before
		x.hash.Add(msg)
		nonce := x.server.opts.Challenge
		if nonce == nil {
			nonce = make([]byte, 8)
			rand.Read(nonce)
		}
		x.challenge = smb2.NTLMChallenge(nonce, "SMBD", time.Now())
		x.id++
		h.SessionID = x.id
		return x.reply(h, smb2.StatusMoreProcessing, setupBody(0, smb2.ServerToken(x.challenge)))
	}
	if x.challenge == nil {
		return errEnd
	}
	x.hash.Add(msg)
	x.server.logins.Add(1)
	user, key, ok := smb2.NTLMVerify(ntlm, x.challenge, func(_, user string) (string, bool) {
		password, ok := o.Users[user]
		return password, ok
	})
	if _, known := o.Users[user]; !ok && o.Guests && !known {
		return x.reply(h, smb2.StatusOK, setupBody(smb2.SessionGuest, smb2.ServerToken(nil)))
	}
	if !ok {
		return x.reply(h, smb2.StatusLogonFailure, nil)
	}
	algorithm := uint16(smb2.SignGMAC)
	if o.CMAC {
		algorithm = smb2.SignCMAC
	}
	x.signer = smb2.NewSigner(o.Dialect, algorithm, key, &x.hash)
	return x.reply(h, smb2.StatusOK, setupBody(0, smb2.ServerToken(nil)))
}

func setupBody(flags byte, token []byte) []byte {
	b := []byte{9, 0, flags, 0, smb2.HeaderSize + 8, 0}
	return append(le.AppendUint16(b, uint16(len(token))), token...)
}

func (x *session) create(h smb2.Header, name string, access uint32) error {
	f := &handle{}
	var written, size uint64
	var attributes uint32
	if x.pipe {
		if name != "srvsvc" {
			return x.reply(h, smb2.StatusNameNotFound, nil)
		}
		f.pipe = true
	} else {
		clean := cmp.Or(strings.ReplaceAll(name, `\`, "/"), ".")
		info, err := fs.Stat(x.server.opts.Tree, clean)
		if err != nil {
			return x.failed(h, err)
		}
		written, size = smb2.FileTime(info.ModTime()), uint64(info.Size())
		if info.IsDir() {
			f.dir, attributes = true, smb2.AttrDirectory
			f.names, err = fs.ReadDir(x.server.opts.Tree, clean)
		} else {
			f.content, err = fs.ReadFile(x.server.opts.Tree, clean)
		}
		if err != nil {
			return x.failed(h, err)
		}
		if access&1 != 0 {
			f.failure = x.conn.Take()
		}
	}
	x.next++
	x.handles[x.next] = f
	b := append([]byte{89, 0, 0, 0, 1, 0, 0, 0}, make([]byte, 16)...)
	b = le.AppendUint64(le.AppendUint64(b, written), written)
	b = le.AppendUint64(le.AppendUint64(b, size), size)
	b = le.AppendUint32(le.AppendUint32(b, attributes), 0)
	b = le.AppendUint64(le.AppendUint64(b, x.next), x.next)
	return x.reply(h, smb2.StatusOK, append(b, make([]byte, 9)...))
}

func (x *session) read(h smb2.Header, f *handle, offset uint64, n uint32) error {
	if f == nil || f.dir || f.pipe {
		return x.reply(h, smb2.StatusInvalidParameter, nil)
	}
	if x.server.opts.Pending {
		p := h
		p.Flags, p.Status, p.Credits = smb2.FlagResponse|smb2.FlagAsync, smb2.StatusPending, 0
		msg := append(p.Append(nil), 9, 0, 0, 0, 0, 0, 0, 0, 0)
		if _, err := x.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)); err != nil {
			return err
		}
	}
	if most := x.server.opts.MaxRead; most > 0 {
		n = min(n, uint32(most))
	}
	all := uint64(len(f.content))
	data := f.content[min(offset, all):min(offset+uint64(n), all)]
	if f.failure.Fault != servers.None {
		place := uint64(f.failure.Place(int64(all)))
		if offset+uint64(len(data)) >= place || len(data) == 0 {
			if data = f.content[min(offset, place):min(place, offset+uint64(n))]; len(data) == 0 {
				if err, over := x.strike(f.failure, h); over {
					return err
				}
			}
		}
	}
	if len(data) == 0 {
		return x.reply(h, smb2.StatusEndOfFile, nil)
	}
	b := []byte{17, 0, smb2.HeaderSize + 16, 0}
	b = le.AppendUint32(b, uint32(len(data)))
	return x.reply(h, smb2.StatusOK, append(append(b, make([]byte, 8)...), data...))
}

func (x *session) list(h smb2.Header, f *handle) error {
	if f == nil || !f.dir {
		return x.reply(h, smb2.StatusInvalidParameter, nil)
	}
	if f.failure.Fault == servers.Endless && f.at == len(f.names) && f.at > 0 {
		f.at = 0
	} else if f.failure.Fault != servers.None && f.failure.Fault != servers.Endless && f.at >= int(f.failure.Place(int64(len(f.names)))) {
		if err, over := x.strike(f.failure, h); over {
			return err
		}
	}
	var b []byte
	last := -1
	for _, e := range f.names[f.at:min(f.at+x.server.opts.Batch, len(f.names))] {
		f.at++
		info, err := e.Info()
		if err != nil {
			continue
		}
		m := smb2.Member{Name: e.Name(), Written: smb2.FileTime(info.ModTime()), Size: uint64(info.Size())}
		if e.IsDir() {
			m.Attributes = smb2.AttrDirectory
		}
		b, last = smb2.AppendMember(b, last, m)
	}
	if last < 0 {
		return x.reply(h, smb2.StatusNoMoreFiles, nil)
	}
	head := []byte{9, 0, smb2.HeaderSize + 8, 0}
	return x.reply(h, smb2.StatusOK, append(le.AppendUint32(head, uint32(len(b))), b...))
}

// transceive answers what is asked of the pipe.
func (x *session) transceive(h smb2.Header, body, msg []byte) error {
	if len(body) < 56 {
		return errEnd
	}
	in, err := smb2.Part(msg, le.Uint32(body[24:]), le.Uint32(body[28:]))
	if err != nil {
		return err
	}
	shares := []smb2.Share{{Name: x.server.opts.Share}, {Name: "IPC$", Type: smb2.ShareHidden | 3}, {Name: "print", Type: 1}}
	for _, name := range slices.Sorted(maps.Keys(x.server.opts.Shares)) {
		shares = append(shares, smb2.Share{Name: name, Remark: x.server.opts.Shares[name]})
	}
	out := smb2.AnswerShares(in, shares)
	b := append([]byte{49, 0, 0, 0}, body[4:24]...)
	for _, v := range []uint32{smb2.HeaderSize + 48, 0, smb2.HeaderSize + 48, uint32(len(out)), 0, 0} {
		b = le.AppendUint32(b, v)
	}
	return x.reply(h, smb2.StatusOK, append(b, out...))
}

// strike does what a fault does that ends the connection or takes the place of a reply.
func (x *session) strike(f servers.Failure, h smb2.Header) (err error, over bool) {
	raw := x.conn.NetConn()
	switch f.Fault {
	case servers.Noise:
		x.conn.Write([]byte("\xff\xfe no SMB\r\n\x00\xff\x7f"))
	case servers.Abort:
		return x.reply(h, smb2.StatusUnexpectedIOError, nil), true
	case servers.Short:
		return x.reply(h, smb2.StatusEndOfFile, nil), true
	case servers.Stall:
		x.conn.Wait()
	case servers.Reset:
		if tcp, ok := raw.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		raw.Close()
	case servers.HalfClose:
		if tcp, ok := raw.(*net.TCPConn); ok {
			tcp.CloseWrite()
		}
		x.conn.Wait()
	case servers.Cut:
		raw.Close()
	default:
		return nil, false
	}
	return errEnd, true
}
