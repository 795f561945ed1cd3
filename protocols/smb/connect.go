package smb

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// maxLogins bounds the credentials that are tried.
const maxLogins = 3

// connect makes a connection, logs in and connects to the share.
func (d *driver) connect(ctx context.Context, t *target) (*session, error) {
	conn, err := d.env.Dial(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), times: d.env.Timeouts(), read: maxOther, credits: 1,
		waiting: make(map[uint64]smb2.Command)}
	release := conn.Bind(ctx)
	err = d.begin(ctx, s, t)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (d *driver) begin(ctx context.Context, s *session, t *target) error {
	if err := s.negotiate(); err != nil {
		return err
	}
	if err := d.login(ctx, s, t); err != nil {
		return err
	}
	return s.connectTree(`\\` + t.url.Host() + `\` + t.tree())
}

// The contexts of a negotiation.
const (
	contextHash    = 1
	contextSigning = 8
)

// signingRequired is the security mode of a client that takes nothing without a signature.
const signingRequired = 2

// negotiate agrees on a dialect.
func (s *session) negotiate() error {
	le := binary.LittleEndian
	random := make([]byte, 48) // who we are, and salt
	rand.Read(random)
	dialects := []uint16{smb2.Dialect202, smb2.Dialect210, smb2.Dialect300, smb2.Dialect302, smb2.Dialect311}
	b := []byte{36, 0, byte(len(dialects)), 0, signingRequired, 0, 0, 0}
	b = le.AppendUint32(b, smb2.LargeMTU)
	b = append(b, random[:16]...)
	at := len(b)
	b = append(b, 0, 0, 0, 0, 2, 0, 0, 0)
	for _, v := range dialects {
		b = le.AppendUint16(b, v)
	}
	hash := append([]byte{1, 0, 32, 0, 1, 0}, random[16:]...)
	for i, c := range []struct {
		kind uint16
		data []byte
	}{{contextHash, hash}, {contextSigning, []byte{2, 0, smb2.SignGMAC, 0, smb2.SignCMAC, 0}}} {
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		if i == 0 {
			le.PutUint32(b[at:], uint32(smb2.HeaderSize+len(b)))
		}
		b = le.AppendUint16(b, c.kind)
		b = le.AppendUint16(b, uint16(len(c.data)))
		b = append(append(b, 0, 0, 0, 0), c.data...)
	}
	m, err := s.ask(smb2.Negotiate, 0, b)
	if err != nil {
		return err
	}
	r, err := s.body(m, 65)
	if err != nil {
		return err
	}
	s.dialect = le.Uint16(r[4:])
	switch s.dialect {
	case smb2.Dialect202, smb2.Dialect210, smb2.Dialect300, smb2.Dialect302:
	case smb2.Dialect311:
		s.hash.Add(m.b)
		if err := s.contexts(m, le.Uint32(r[60:]), le.Uint16(r[6:])); err != nil {
			return err
		}
	default:
		return s.fail(violation("the server chose dialect %#04x, which it was not offered", s.dialect))
	}
	s.large = s.dialect > smb2.Dialect202 && le.Uint32(r[24:])&smb2.LargeMTU != 0
	most := min(le.Uint32(r[32:]), maxRead)
	if !s.large {
		most = min(most, maxOther)
	}
	if most < 1024 {
		return s.fail(violation("the server sends at most %d bytes at once", most))
	}
	s.read = int(most)
	return nil
}

// contexts reads the contexts of the answer to a negotiation.
func (s *session) contexts(m message, at uint32, n uint16) error {
	s.algo = smb2.SignCMAC
	hashed := false
	for ; n > 0; n-- {
		at = (at + 7) &^ 7
		head, err := s.part(m, at, 8)
		if err != nil {
			return err
		}
		size := binary.LittleEndian.Uint16(head[2:])
		data, err := s.part(m, at+8, uint32(size))
		if err != nil {
			return err
		}
		switch kind := binary.LittleEndian.Uint16(head); {
		case kind == contextHash && len(data) >= 6:
			hashed = data[0] == 1 && data[4] == 1 && data[5] == 0
		case kind == contextSigning && len(data) >= 4:
			if s.algo = binary.LittleEndian.Uint16(data[2:]); s.algo != smb2.SignGMAC && s.algo != smb2.SignCMAC {
				return s.fail(violation("the server chose algorithm %d for signatures", s.algo))
			}
		}
		at += 8 + uint32(size)
	}
	if !hashed {
		return s.fail(violation("the server does not hash the negotiation"))
	}
	return nil
}

// login logs in with what the URL or the user says.
func (d *driver) login(ctx context.Context, s *session, t *target) error {
	domain, user := splitUser(t.login.Name)
	if strings.EqualFold(user, "guest") && t.login.Password == "" {
		return s.setup(smb2.Account{Domain: domain, User: user}, true)
	}
	for attempt := 1; ; attempt++ {
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: t.url, Mechanism: "smb", User: t.login.Name, Attempt: attempt})
		if errors.Is(err, fetch.ErrAuth) && attempt == 1 {
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("no user and password to log in with"),
				Hint: "give a user name and password, or the user guest"}
		}
		if errors.Is(err, fetch.ErrAuth) || attempt > maxLogins {
			return refusal(smb2.SessionSetup, smb2.StatusLogonFailure)
		}
		if err != nil {
			return err
		}
		a := smb2.Account{Password: cred.Password}
		if a.Domain, a.User = splitUser(cred.User); a.Domain == "" {
			a.Domain = domain
		}
		if a.User == "" {
			a.User = user
		}
		err = s.setup(a, false)
		if s.broken != nil || !errors.Is(err, fetch.ErrAuth) || errors.Is(err, errGuest) {
			return err
		}
	}
}

// splitUser divides "domain;user" or "domain\user".
func splitUser(name string) (domain, user string) {
	if i := strings.IndexAny(name, `;\`); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// errGuest is the error of those who are let in as somebody else.
var errGuest = errors.New("the server knows no such user, and would let anybody in as a guest")

// setup logs in with one account.
func (s *session) setup(a smb2.Account, guest bool) error {
	for _, text := range []string{a.Domain, a.User, a.Password} {
		if _, ok := smb2.AppendUTF16(nil, text); !ok {
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("user name and password have to be UTF-8")}
		}
	}
	before := s.hash
	s.id = 0
	first := smb2.NTLMNegotiate()
	m, err := s.token(smb2.FirstToken(first))
	if err == nil && m.Status == smb2.StatusOK {
		err = s.fail(violation("the server asks for no password"))
	}
	if err != nil {
		return err
	}
	s.hash.Add(m.b)
	s.id = m.SessionID
	token, _, err := s.setupAnswer(m)
	if err != nil {
		return err
	}
	var next, key []byte
	challenge, err := smb2.NTLMToken(token)
	if err == nil {
		next, key, err = smb2.NTLMAuthenticate(first, challenge, a)
	}
	if err != nil {
		return s.fail(violation("%v", err))
	}
	if m, err = s.token(smb2.LastToken(next, key)); err != nil {
		s.hash = before
		return err
	}
	if m.Status != smb2.StatusOK {
		return s.fail(violation("the login does not end"))
	}
	_, flags, err := s.setupAnswer(m)
	switch {
	case err != nil:
		return err
	case flags&(smb2.SessionGuest|smb2.SessionNull) != 0 && guest:
		return nil
	case flags&(smb2.SessionGuest|smb2.SessionNull) != 0:
		return s.fail(&fetch.Error{Code: fetch.ErrAuth, Err: errGuest, Hint: "name the user guest if that is wanted"})
	case flags&smb2.SessionEncrypt != 0:
		return s.fail(&fetch.Error{Code: fetch.ErrRefused, Err: errors.New("the server insists on encryption, which is not known here")})
	}
	s.signer = smb2.NewSigner(s.dialect, s.algo, key, &s.hash)
	if !s.signer.Verify(m.b) {
		return s.fail(violation("the server's signature is wrong: it does not know the password, or somebody on the way changed something"))
	}
	return nil
}

// token sends a token of a login.
func (s *session) token(token []byte) (message, error) {
	le := binary.LittleEndian
	b := []byte{25, 0, 0, signingRequired, 0, 0, 0, 0, 0, 0, 0, 0, smb2.HeaderSize + 24, 0}
	b = le.AppendUint16(b, uint16(len(token)))
	b = append(b, make([]byte, 8)...)
	return s.ask(smb2.SessionSetup, len(token), append(b, token...), smb2.StatusMoreProcessing)
}

// setupAnswer returns the token and the flags of an answer to a login.
func (s *session) setupAnswer(m message) (token []byte, flags uint16, err error) {
	le := binary.LittleEndian
	r, err := s.body(m, 9)
	if err != nil {
		return nil, 0, err
	}
	token, err = s.part(m, uint32(le.Uint16(r[4:])), uint32(le.Uint16(r[6:])))
	return token, le.Uint16(r[2:]), err
}

// connectTree connects to a share.
func (s *session) connectTree(name string) error {
	le := binary.LittleEndian
	path := smb2.UTF16(name)
	b := []byte{9, 0, 0, 0, smb2.HeaderSize + 8, 0}
	b = le.AppendUint16(b, uint16(len(path)))
	m, err := s.ask(smb2.TreeConnect, 0, append(b, path...))
	if err != nil {
		return err
	}
	r, err := s.body(m, 16)
	if err != nil {
		return err
	}
	const encrypted = 0x8000
	switch kind := r[2]; {
	case kind != 1 && kind != 2:
		return &fetch.Error{Code: fetch.ErrRefused, Err: errors.New("the share is a printer")}
	case le.Uint32(r[4:])&encrypted != 0:
		return &fetch.Error{Code: fetch.ErrRefused, Err: errors.New("the server encrypts this share, which is not known here")}
	}
	s.tree = m.TreeID
	return nil
}
