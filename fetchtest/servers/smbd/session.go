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

// maxMessage limits a message from a client, in bytes.
const maxMessage = 1 << 20

// A session handles the requests of one client.
type session struct {
	server        *Server
	conn          *servers.Conn
	hash          smb2.Hash
	negotiateHash smb2.Hash // preauthentication hash after the negotiation
	challenge     []byte
	signer        *smb2.Signer
	sealer        *smb2.Sealer
	encrypted     bool // the request was encrypted, and the response must be
	encryptAll    bool // all requests must be encrypted
	id            uint64
	credits       int
	pipe          bool // the share of the request is IPC$
	handles       map[smb2.FileID]*handle
	lastID        uint64
}

// A handle is an open file or directory.
type handle struct {
	name    string // of the file
	content []byte
	names   []fs.DirEntry // members of a directory
	dir     bool
	pipe    bool
	index   int // index in names
	failure servers.Failure
}

// errEnd ends a session.
var errEnd = errors.New("smbd: end")

// serve handles requests until the client closes the connection or a fault ends it.
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
		if x.receive(msg) != nil {
			return
		}
	}
}

// receive decrypts a request, checks its signature and handles it.
func (x *session) receive(msg []byte) (err error) {
	if x.encrypted = x.sealer != nil && smb2.IsSealed(msg); x.encrypted {
		if msg, err = x.sealer.Open(msg); err != nil {
			return err
		}
	}
	h, err := smb2.ParseHeader(msg)
	switch {
	case err != nil:
		return err
	case x.encrypted:
	case x.encryptAll, x.signer != nil && !x.signer.Verify(msg):
		return errEnd
	}
	return x.handle(h, msg)
}

// reply sends a response.
func (x *session) reply(h smb2.Header, status smb2.Status, body smb2.Body, buffer []byte) error {
	cost := int(max(h.Charge, 1))
	x.credits -= cost
	granted := max(0, min(int(h.Credits), x.server.opts.Credits-x.credits))
	x.credits += granted
	h.Credits, h.Status, h.Flags = uint16(granted), status, smb2.FlagServerToRedir
	msg := smb2.Append(nil, h, body, buffer)
	if x.server.opts.Dialect == smb2.Dialect311 &&
		(h.Command == smb2.Negotiate || h.Command == smb2.SessionSetup && status != smb2.StatusSuccess) {
		x.hash.Add(msg)
	}
	if x.encrypted {
		msg = x.sealer.Seal(nil, msg)
	} else if x.signer != nil {
		x.signer.Sign(msg)
	}
	if forge := x.server.opts.Forge; forge != nil {
		forge(h.Command, msg)
	}
	return x.write(msg)
}

// write sends a message.
func (x *session) write(msg []byte) error {
	_, err := x.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...))
	return err
}

// refuse sends an error response.
func (x *session) refuse(h smb2.Header, status smb2.Status) error {
	return x.reply(h, status, &smb2.ErrorResponse{}, nil)
}

// replyError responds with the status for err.
func (x *session) replyError(h smb2.Header, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x.refuse(h, smb2.StatusObjectNameNotFound)
	case errors.Is(err, fs.ErrInvalid):
		return x.refuse(h, smb2.StatusObjectNameInvalid)
	case errors.Is(err, fs.ErrPermission):
		return x.refuse(h, smb2.StatusAccessDenied)
	}
	return x.refuse(h, smb2.StatusUnexpectedIOError)
}

// handle handles one request.
func (x *session) handle(h smb2.Header, msg []byte) error {
	body := map[smb2.Command]smb2.Body{
		smb2.Negotiate: &smb2.NegotiateRequest{}, smb2.SessionSetup: &smb2.SessionSetupRequest{},
		smb2.TreeConnect: &smb2.TreeConnectRequest{},
		smb2.Create:      &smb2.CreateRequest{}, smb2.Close: &smb2.CloseRequest{},
		smb2.Read:           &smb2.ReadRequest{},
		smb2.QueryDirectory: &smb2.QueryDirectoryRequest{}, smb2.Ioctl: &smb2.IoctlRequest{},
	}[h.Command]
	if body == nil {
		return x.refuse(h, smb2.StatusNotSupported)
	}
	buffer, err := smb2.Parse(msg, body)
	if err != nil {
		return err
	}
	name := ""
	if h.Command == smb2.TreeConnect || h.Command == smb2.Create {
		name = smb2.Name(buffer)
	}
	x.conn.Note(strings.TrimSpace(h.Command.String() + " " + printable.Replace(name)))
	if h.Command != smb2.Create && h.Command != smb2.Read {
		if f := x.conn.TakeFor(); f.Fault != servers.None {
			if err, handled := x.applyFault(f, h); handled {
				return err
			}
		}
	}
	x.pipe = h.TreeID == ipcTree
	switch r := body.(type) {
	case *smb2.NegotiateRequest:
		return x.negotiate(h, msg)
	case *smb2.SessionSetupRequest:
		return x.setup(h, msg, buffer)
	case *smb2.TreeConnectRequest:
		return x.connectTree(h, name)
	case *smb2.CreateRequest:
		return x.create(h, name, r.DesiredAccess)
	case *smb2.CloseRequest:
		f := x.handles[r.FileID]
		delete(x.handles, r.FileID)
		closed := &smb2.CloseResponse{Flags: r.Flags}
		if f != nil && r.Flags&smb2.CloseWithAttributes != 0 {
			closed.EndOfFile = uint64(len(f.content))
			if info, err := fs.Stat(x.server.opts.Tree, f.name); err == nil {
				closed.LastWriteTime = smb2.FileTime(info.ModTime())
			}
		}
		return x.reply(h, smb2.StatusSuccess, closed, nil)
	case *smb2.ReadRequest:
		return x.read(h, x.handles[r.FileID], r.Offset, r.Length)
	case *smb2.QueryDirectoryRequest:
		return x.list(h, x.handles[r.FileID])
	case *smb2.IoctlRequest:
		return x.transceive(h, r, buffer)
	}
	return errEnd
}

// Tree IDs of the share with files and of IPC$.
const (
	diskTree = 1
	ipcTree  = 2
)

// connectTree connects to the share in a path, \\server\share.
func (x *session) connectTree(h smb2.Header, path string) error {
	share := path[strings.LastIndexByte(path, '\\')+1:]
	r := smb2.TreeConnectResponse{ShareType: smb2.ShareTypeDisk, MaximalAccess: smb2.FileAllAccess}
	switch h.TreeID = diskTree; {
	case strings.EqualFold(share, "IPC$"):
		h.TreeID, r.ShareType = ipcTree, smb2.ShareTypePipe
	case !strings.EqualFold(share, x.server.opts.Share):
		h.TreeID = 0
		return x.refuse(h, smb2.StatusBadNetworkName)
	}
	if x.server.opts.EncryptShare && h.TreeID == diskTree {
		r.ShareFlags, x.encryptAll = smb2.ShareFlagEncryptData, true
	}
	return x.reply(h, smb2.StatusSuccess, &r, nil)
}

// printable escapes line ends and NUL in log lines.
var printable = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\x00", `\0`)

func (x *session) negotiate(h smb2.Header, msg []byte) error {
	o := &x.server.opts
	x.hash.Add(msg)
	r := smb2.NegotiateResponse{SecurityMode: smb2.SigningEnabled, Dialect: o.Dialect,
		Capabilities:    smb2.CapLargeMTU,
		MaxTransactSize: 1 << 20, MaxReadSize: 1 << 20, MaxWriteSize: 1 << 20}
	if o.Dialect == smb2.Dialect202 {
		r.Capabilities = 0
	}
	if o.DFS != nil {
		r.Capabilities |= smb2.CapDFS
	}
	var c smb2.Contexts
	if o.Dialect == smb2.Dialect311 {
		c = smb2.Contexts{Hashes: []uint16{smb2.HashSHA512}, Salt: make([]byte, 32),
			Signing: []uint16{o.signing()}}
		if o.Cipher != 0 {
			c.Ciphers = []uint16{o.Cipher}
		}
	} else if o.Cipher != 0 {
		r.Capabilities |= smb2.CapEncryption
	}
	buffer := r.Choose(c)
	err := x.reply(h, smb2.StatusSuccess, &r, buffer)
	x.negotiateHash = x.hash
	return err
}

func (x *session) setup(h smb2.Header, msg, token []byte) error {
	o := &x.server.opts
	ntlm, err := smb2.NTLMToken(token)
	if err != nil {
		return err
	}
	if h.SessionID == 0 {
		x.hash = x.negotiateHash
		x.hash.Add(msg)
		nonce := make([]byte, 8)
		rand.Read(nonce)
		x.challenge = smb2.NTLMChallenge(nonce, "SMBD", time.Now())
		x.id++
		h.SessionID = x.id
		return x.reply(h, smb2.StatusMoreProcessingRequired, &smb2.SessionSetupResponse{},
			smb2.ServerToken(x.challenge))
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
	if o.Refusal != 0 {
		return x.refuse(h, o.Refusal)
	}
	if _, known := o.Users[user]; !ok && o.Guests && !known {
		return x.reply(h, smb2.StatusSuccess,
			&smb2.SessionSetupResponse{SessionFlags: smb2.SessionFlagIsGuest}, smb2.ServerToken(nil))
	}
	if !ok {
		return x.refuse(h, smb2.StatusLogonFailure)
	}
	x.signer = smb2.NewSigner(o.Dialect, o.signing(), key, &x.hash)
	var r smb2.SessionSetupResponse
	if o.Cipher != 0 {
		client, err := smb2.NewSealer(o.Dialect, o.Cipher, h.SessionID, key, &x.hash)
		if err != nil {
			return err
		}
		x.sealer = client.ServerSide()
	}
	if o.EncryptSession {
		r.SessionFlags, x.encryptAll = smb2.SessionFlagEncryptData, true
	}
	return x.reply(h, smb2.StatusSuccess, &r, smb2.ServerToken(nil))
}

func (x *session) create(h smb2.Header, name string, access uint32) error {
	f := &handle{}
	var r smb2.CreateResponse
	if x.pipe {
		if name != "srvsvc" {
			return x.refuse(h, smb2.StatusObjectNameNotFound)
		}
		f.pipe = true
	} else {
		if link, _ := x.server.link(x.server.opts.Share + `\` + name); link != "" {
			return x.refuse(h, smb2.StatusPathNotCovered)
		}
		clean := cmp.Or(strings.ReplaceAll(name, `\`, "/"), ".")
		info, err := fs.Stat(x.server.opts.Tree, clean)
		if err != nil {
			return x.replyError(h, err)
		}
		r.LastWriteTime, r.EndOfFile = smb2.FileTime(info.ModTime()), uint64(info.Size())
		if info.IsDir() {
			f.dir, r.FileAttributes = true, smb2.AttributeDirectory
			f.names, err = fs.ReadDir(x.server.opts.Tree, clean)
		} else {
			f.name = clean
			f.content, err = fs.ReadFile(x.server.opts.Tree, clean)
		}
		if err != nil {
			return x.replyError(h, err)
		}
		if access&smb2.FileReadData != 0 {
			f.failure = x.conn.Take()
		}
	}
	x.lastID++
	r.FileID = smb2.FileID{Persistent: x.lastID, Volatile: x.lastID}
	x.handles[r.FileID] = f
	return x.reply(h, smb2.StatusSuccess, &r, nil)
}

func (x *session) read(h smb2.Header, f *handle, offset uint64, n uint32) error {
	if f == nil || f.dir || f.pipe {
		return x.refuse(h, smb2.StatusInvalidParameter)
	}
	if x.server.opts.Pending {
		p := h
		p.Flags, p.Status, p.Credits = smb2.FlagServerToRedir|smb2.FlagAsyncCommand, smb2.StatusPending, 0
		msg := smb2.Append(nil, p, &smb2.ErrorResponse{}, nil)
		if x.encrypted {
			msg = x.sealer.Seal(nil, msg)
		}
		if err := x.write(msg); err != nil {
			return err
		}
	}
	if limit := x.server.opts.MaxRead; limit > 0 {
		n = min(n, uint32(limit))
	}
	length := uint64(len(f.content))
	data := f.content[min(offset, length):min(offset+uint64(n), length)]
	if f.failure.Fault != servers.None {
		faultOffset := uint64(f.failure.Place(int64(length)))
		if offset+uint64(len(data)) >= faultOffset || len(data) == 0 {
			if data = f.content[min(offset, faultOffset):min(faultOffset, offset+uint64(n))]; len(data) == 0 {
				if err, handled := x.applyFault(f.failure, h); handled {
					return err
				}
			}
		}
	}
	if len(data) == 0 {
		return x.refuse(h, smb2.StatusEndOfFile)
	}
	return x.reply(h, smb2.StatusSuccess, &smb2.ReadResponse{}, data)
}

func (x *session) list(h smb2.Header, f *handle) error {
	if f == nil || !f.dir {
		return x.refuse(h, smb2.StatusInvalidParameter)
	}
	if f.failure.Fault == servers.Endless && f.index == len(f.names) && f.index > 0 {
		f.index = 0
	} else if f.failure.Fault != servers.None && f.failure.Fault != servers.Endless &&
		f.index >= int(f.failure.Place(int64(len(f.names)))) {
		if err, handled := x.applyFault(f.failure, h); handled {
			return err
		}
	}
	var b []byte
	last := -1
	for _, e := range f.names[f.index:min(f.index+x.server.opts.Batch, len(f.names))] {
		f.index++
		info, err := e.Info()
		if err != nil {
			continue
		}
		m := smb2.Member{Name: e.Name(), LastWriteTime: smb2.FileTime(info.ModTime()),
			Size: uint64(info.Size())}
		if e.IsDir() {
			m.Attributes = smb2.AttributeDirectory
		}
		b, last = smb2.AppendMember(b, last, m)
	}
	if last < 0 {
		return x.refuse(h, smb2.StatusNoMoreFiles)
	}
	return x.reply(h, smb2.StatusSuccess, &smb2.QueryDirectoryResponse{}, b)
}

// link returns the DFS link that a path, share\dir\file, is at or below, and its targets.
func (s *Server) link(path string) (link string, targets []string) {
	for l, t := range s.opts.DFS {
		if rest, ok := strings.CutPrefix(path, l); ok && (rest == "" || rest[0] == '\\') && len(l) > len(link) {
			link, targets = l, t
		}
	}
	return link, targets
}

// refer handles a request for the servers of a path, \server\share\dir.
func (x *session) refer(h smb2.Header, r *smb2.IoctlRequest, msg []byte) error {
	path := smb2.ReferralPath(msg)
	x.conn.Note("REFERRAL " + printable.Replace(path))
	host, rest, _ := strings.Cut(strings.TrimPrefix(path, `\`), `\`)
	link, targets := x.server.link(rest)
	if link == "" {
		return x.refuse(h, smb2.StatusNotFound)
	}
	answer := smb2.Referral{Consumed: len(smb2.UTF16(`\` + host + `\` + link)), Targets: targets}
	return x.reply(h, smb2.StatusSuccess, &smb2.IoctlResponse{CtlCode: r.CtlCode, FileID: r.FileID},
		answer.Append(nil))
}

// transceive handles a message to the pipe.
func (x *session) transceive(h smb2.Header, r *smb2.IoctlRequest, msg []byte) error {
	if r.CtlCode == smb2.FsctlDFSGetReferrals {
		return x.refer(h, r, msg)
	}
	shares := []smb2.Share{{Name: x.server.opts.Share},
		{Name: "IPC$", Type: smb2.STypeSpecial | smb2.STypeIPC}, {Name: "print", Type: smb2.STypePrintQ}}
	for _, name := range slices.Sorted(maps.Keys(x.server.opts.Shares)) {
		shares = append(shares, smb2.Share{Name: name, Remark: x.server.opts.Shares[name]})
	}
	return x.reply(h, smb2.StatusSuccess, &smb2.IoctlResponse{CtlCode: r.CtlCode, FileID: r.FileID},
		smb2.ShareResponse(msg, shares))
}

// applyFault applies a fault that ends the connection or replaces the response.
func (x *session) applyFault(f servers.Failure, h smb2.Header) (err error, handled bool) {
	raw := x.conn.NetConn()
	switch f.Fault {
	case servers.Noise:
		x.conn.Write([]byte("\xff\xfe no SMB\r\n\x00\xff\x7f"))
	case servers.Abort:
		return x.refuse(h, smb2.StatusUnexpectedIOError), true
	case servers.Short:
		return x.refuse(h, smb2.StatusEndOfFile), true
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
