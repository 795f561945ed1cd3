package smb

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	// maxRead limits the data of one READ, in bytes.
	maxRead = 1 << 20
	// creditSize limits the data of other requests, in bytes. It costs one credit.
	creditSize = 64 << 10
	// maxMessage limits the size of a received message, in bytes.
	maxMessage = maxRead + 4<<10
	// targetCredits is the number of credits to request, more than the reads in flight cost.
	targetCredits = 512
	// maxPending limits the interim responses and oplock breaks between two responses.
	maxPending = 32
)

// A session is an authenticated session on a connection, connected to one share. It serves one
// fetch.Response at a time, and only the reader of its body waits for messages.
type session struct {
	conn  *fetch.Conn
	in    *bufio.Reader
	times fetch.Timeouts
	terms
	protection
	credits     int                     // granted by the server and unused
	nextID      uint64                  // next message ID
	sessionID   uint64                  // session ID
	treeID      uint32                  // tree ID of the share
	ipcID       uint32                  // tree ID of IPC$; 0 before a request for referrals
	outstanding map[uint64]smb2.Command // outstanding requests, by message ID
	pending     int                     // interim responses and oplock breaks since the last response
	freeBuffers [][]byte                // reusable buffers
	err         error
}

type terms struct {
	dialect     uint16
	signing     uint16    // signing algorithm, in dialect 3.1.1
	cipher      uint16    // 0 if none was negotiated
	hash        smb2.Hash // preauthentication integrity hash, in dialect 3.1.1
	readSize    int       // largest READ, in bytes
	multiCredit bool      // requests may cost several credits
	hasDFS      bool      // the server has DFS namespaces
}

type protection struct {
	signer     *smb2.Signer // nil for guests
	sealer     *smb2.Sealer // nil for guests and without a cipher
	encryptAll bool         // all messages are encrypted instead of signed
}

// A message is a decrypted message from the server. Recycle returns its buffer to the session.
type message struct {
	smb2.Header
	b         []byte
	buffer    []byte
	encrypted bool // it was encrypted
}

func (s *session) recycle(m message) {
	if len(m.buffer) > maxMessage && len(s.freeBuffers) < 2*maxWindow {
		s.freeBuffers = append(s.freeBuffers, m.buffer)
	}
}

func (s *session) charge(n int) int {
	if !s.multiCredit {
		return 1
	}
	return max(1, (n+creditSize-1)/creditSize)
}

// send sends a request and returns its message ID. The caller must receive the response. N is the
// size of the request's or the response's data, in bytes, whichever is larger.
func (s *session) send(c smb2.Command, n int, body smb2.Body, buffer []byte) (uint64, error) {
	if s.err != nil {
		return 0, s.err
	}
	cost := s.charge(n)
	if cost > s.credits {
		return 0, s.violation("the server granted too few credits for a request")
	}
	h := smb2.Header{Command: c, MessageID: s.nextID, TreeID: s.treeID, SessionID: s.sessionID,
		Credits: uint16(max(1, cost+targetCredits-s.credits))}
	if s.multiCredit {
		h.Charge = uint16(cost)
	}
	s.credits -= cost
	s.nextID += uint64(cost)
	msg := smb2.Append(nil, h, body, buffer)
	switch {
	case s.encryptAll:
		msg = s.sealer.Seal(nil, msg)
	case s.signer != nil:
		s.signer.Sign(msg)
	case c == smb2.Negotiate || c == smb2.SessionSetup && s.dialect == smb2.Dialect311:
		s.hash.Add(msg)
	}
	msg = append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
	write := s.conn.Write
	if c == smb2.SessionSetup && s.sessionID != 0 { // the response to a challenge
		write = func(p []byte) (int, error) { return s.conn.WriteMasked(p, maskTail(p, len(buffer))) }
	}
	if _, err := write(msg); err != nil {
		return 0, s.fail(connError(err))
	}
	s.outstanding[h.MessageID] = c
	return h.MessageID, nil
}

// maskTail returns a copy of p whose last n bytes are asterisks.
func maskTail(p []byte, n int) []byte {
	return append(bytes.Clone(p[:len(p)-n]), bytes.Repeat([]byte("*"), n)...)
}

// fail ends the session with err and returns the error that ended it first.
func (s *session) fail(err error) error {
	if s.err == nil {
		s.err = err
	}
	return s.err
}

// violation ends the session because the server violates the protocol.
func (s *session) violation(format string, args ...any) error {
	return s.fail(fetch.ErrProtocol.Errorf(format, args...))
}

// receive returns the next response to any request. It skips interim responses and oplock breaks.
func (s *session) receive() (message, error) {
	if s.err != nil {
		return message{}, s.err
	}
	defer s.conn.Piece()()
	for {
		m, err := s.readMessage()
		if err != nil {
			return message{}, s.fail(err)
		}
		if m.MessageID == smb2.UnsolicitedMessageID { // an oplock break, although no oplock was requested
			if s.pending++; s.pending > maxPending {
				return message{}, s.violation("too many unsolicited messages")
			}
			s.recycle(m)
			continue
		}
		c, ok := s.outstanding[m.MessageID]
		if !ok || c != m.Command || m.Flags&smb2.FlagServerToRedir == 0 {
			return message{}, s.violation("unsolicited response")
		}
		s.credits = min(s.credits+int(m.Credits), 1<<16)
		if m.Status == smb2.StatusPending && m.Flags&smb2.FlagAsyncCommand != 0 &&
			(m.encrypted || !s.encryptAll) {
			if s.pending++; s.pending > maxPending {
				return message{}, s.violation("too many interim responses")
			}
			s.recycle(m)
			continue
		}
		if err := s.verify(m); err != nil {
			return message{}, s.fail(err)
		}
		delete(s.outstanding, m.MessageID)
		s.pending = 0
		return m, nil
	}
}

// verify returns an error if m is not encrypted although it must be, or has a bad signature.
func (s *session) verify(m message) error {
	switch {
	case m.encrypted, s.signer == nil:
		return nil
	case m.Status == smb2.StatusUserSessionDeleted && m.Flags&smb2.FlagSigned == 0:
		return statusError(m.Command, m.Status) // the server no longer has the key
	case s.encryptAll:
		return fetch.ErrProtocol.Errorf("a response is not encrypted and may have been modified in transit")
	case !s.signer.Verify(m.b):
		return fetch.ErrProtocol.Errorf(
			"a response has a bad signature and may have been modified in transit")
	}
	return nil
}

func (s *session) readMessage() (message, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return message{}, connError(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < smb2.HeaderSize || n > maxMessage {
		return message{}, fetch.ErrProtocol.Errorf("invalid message length %d", n)
	}
	var b []byte
	if last := len(s.freeBuffers) - 1; n > creditSize && last >= 0 {
		b, s.freeBuffers = s.freeBuffers[last], s.freeBuffers[:last]
	} else if n > creditSize {
		b = make([]byte, maxMessage+smb2.TagSize)
	} else {
		b = make([]byte, n+smb2.TagSize)
	}
	m := message{b: b[:n], buffer: b}
	if _, err := io.ReadFull(s.in, m.b); err != nil {
		return message{}, connError(err)
	}
	var err error
	if m.encrypted = s.sealer != nil && smb2.IsSealed(m.b); m.encrypted {
		if m.b, err = s.sealer.Open(m.b); err != nil {
			return message{}, fetch.ErrProtocol.Errorf("%v", err)
		}
	}
	if m.Header, err = smb2.ParseHeader(m.b); err != nil {
		return message{}, &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return m, nil
}

// roundTrip sends a request and waits for its response, up to the reply timeout. No other request may
// be outstanding. It parses the body of the response into r and returns the buffer after it. A status
// other than success is an error unless it is in allowed.
func (s *session) roundTrip(c smb2.Command, n int, req smb2.Body, buffer []byte, r smb2.Body,
	allowed ...smb2.Status) (message, []byte, error) {
	done := s.conn.ReplyTimeout(s.times.Reply)
	defer done()
	id, err := s.send(c, n, req, buffer)
	if err != nil {
		return message{}, nil, err
	}
	m, err := s.receive()
	if err != nil {
		return message{}, nil, err
	}
	if m.MessageID != id {
		return message{}, nil, s.violation("response to a different request")
	}
	if err := s.checkStatus(m, allowed...); err != nil {
		return m, nil, err
	}
	switch m.Status {
	case smb2.StatusSuccess, smb2.StatusMoreProcessingRequired, smb2.StatusBufferOverflow:
		data, err := s.parse(m, r)
		return m, data, err
	}
	return m, nil, nil // other statuses have an ErrorResponse
}

// checkStatus ends the session if the server has ended it or disconnected the share.
func (s *session) checkStatus(m message, allowed ...smb2.Status) error {
	if m.Status == smb2.StatusSuccess || slices.Contains(allowed, m.Status) {
		return nil
	}
	err := statusError(m.Command, m.Status)
	if errors.Is(err, remotefile.ErrLost) {
		return s.fail(err)
	}
	return err
}

func (s *session) parse(m message, r smb2.Body) ([]byte, error) {
	data, err := smb2.Parse(m.b, r)
	if err != nil {
		return nil, s.violation("%v in the response to %v", err, m.Command)
	}
	return data, nil
}

type file smb2.CreateResponse

func (f *file) isDir() bool        { return f.FileAttributes&smb2.AttributeDirectory != 0 }
func (f *file) modTime() time.Time { return smb2.Time(f.LastWriteTime) }

// open opens a file or directory. If content is false, it requests access to the attributes only.
func (s *session) open(path string, content bool) (*file, error) {
	req := &smb2.CreateRequest{ImpersonationLevel: smb2.Impersonation,
		DesiredAccess: smb2.FileReadAttributes | smb2.Synchronize,
		ShareAccess:   smb2.FileShareAll, CreateDisposition: smb2.FileOpen}
	if content {
		req.DesiredAccess |= smb2.FileReadData
	}
	var r smb2.CreateResponse
	if _, _, err := s.roundTrip(smb2.Create, 0, req, smb2.UTF16(path), &r); err != nil {
		return nil, err
	}
	return (*file)(&r), nil
}

func (s *session) close(f *file) error {
	_, err := s.closeFile(f, 0)
	return err
}

// closeRead closes a file that was read, and returns an error if it was modified or, if it was read to its
// end, has grown.
func (s *session) closeRead(f *file, toEnd bool) error {
	r, err := s.closeFile(f, smb2.CloseWithAttributes)
	switch {
	case err != nil || r.Flags&smb2.CloseWithAttributes == 0:
		return err
	case toEnd && r.EndOfFile > f.EndOfFile:
		return remotefile.Grown(int64(f.EndOfFile))
	case r.LastWriteTime != f.LastWriteTime && r.LastWriteTime != 0 && f.LastWriteTime != 0: // 0 if unknown
		return remotefile.Modified()
	}
	return nil
}

func (s *session) closeFile(f *file, flags uint16) (r smb2.CloseResponse, err error) {
	_, _, err = s.roundTrip(smb2.Close, 0, &smb2.CloseRequest{Flags: flags, FileID: f.FileID}, nil, &r)
	return r, err
}
