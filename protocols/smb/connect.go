package smb

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
)

const maxLogins = 3

func (d *opener) connect(ctx context.Context, t *target) (*session, error) {
	conn, err := d.env.Dial(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), times: d.env.Timeouts(),
		terms: terms{readSize: creditSize}, credits: 1,
		outstanding: make(map[uint64]smb2.Command)}
	release := conn.Bind(ctx)
	err = d.handshake(ctx, s, t)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (d *opener) handshake(ctx context.Context, s *session, t *target) error {
	if err := s.negotiate(); err != nil {
		return err
	}
	if err := d.login(ctx, s, t); err != nil {
		return err
	}
	err := s.connectTree(`\\` + t.url.Host() + `\` + t.tree())
	if errors.Is(err, errNoShare) {
		return s.refer(t, err) // it may be a namespace of the domain
	}
	return err
}

var dialects = []uint16{smb2.Dialect202, smb2.Dialect210, smb2.Dialect300, smb2.Dialect302, smb2.Dialect311}

// ciphers lists the ciphers that NEGOTIATE offers, fastest first.
var ciphers = []uint16{smb2.CipherAES128GCM, smb2.CipherAES256GCM, smb2.CipherAES128CCM, smb2.CipherAES256CCM}

func (s *session) negotiate() error {
	random := make([]byte, 48) // ClientGuid and the salt of the hash
	rand.Read(random)
	req := &smb2.NegotiateRequest{SecurityMode: smb2.SigningRequired,
		Capabilities: smb2.CapLargeMTU | smb2.CapEncryption,
		ClientGUID:   [16]byte(random)}
	buffer := req.Offer(dialects, smb2.Contexts{Hashes: []uint16{smb2.HashSHA512},
		Salt: random[16:], Ciphers: ciphers,
		Signing: []uint16{smb2.SignGMAC, smb2.SignCMAC}})
	var r smb2.NegotiateResponse
	m, _, err := s.roundTrip(smb2.Negotiate, 0, req, buffer, &r)
	if err != nil {
		return err
	}
	s.dialect = r.Dialect
	switch {
	case !slices.Contains(dialects, r.Dialect):
		return s.violation("the server selected dialect %#04x, which was not offered", r.Dialect)
	case r.Dialect == smb2.Dialect311:
		s.hash.Add(m.b)
		if err := s.setAlgorithms(m, &r); err != nil {
			return err
		}
	case r.Dialect >= smb2.Dialect300 && r.Capabilities&smb2.CapEncryption != 0:
		s.cipher = smb2.CipherAES128CCM
	}
	s.hasDFS = r.Capabilities&smb2.CapDFS != 0
	s.multiCredit = s.dialect > smb2.Dialect202 && r.Capabilities&smb2.CapLargeMTU != 0
	readSize := min(r.MaxReadSize, maxRead)
	if !s.multiCredit {
		readSize = min(readSize, creditSize)
	}
	if readSize < 1024 {
		return s.violation("the server limits reads to %d bytes", readSize)
	}
	s.readSize = int(readSize)
	return nil
}

func (s *session) setAlgorithms(m message, r *smb2.NegotiateResponse) error {
	c, err := smb2.ParseContexts(m.b, r.ContextOffset, r.ContextCount)
	if err != nil {
		return s.violation("%v in the response to %v", err, m.Command)
	}
	if !slices.Equal(c.Hashes, []uint16{smb2.HashSHA512}) {
		return s.violation("the server did not select SHA-512 for preauthentication integrity")
	}
	s.signing = smb2.SignCMAC
	if len(c.Signing) > 0 {
		s.signing = c.Signing[0]
	}
	if s.signing != smb2.SignGMAC && s.signing != smb2.SignCMAC {
		return s.violation("the server selected unknown signing algorithm %d", s.signing)
	}
	if len(c.Ciphers) > 0 && c.Ciphers[0] != 0 { // 0 if the server has no common cipher
		if s.cipher = c.Ciphers[0]; !slices.Contains(ciphers, s.cipher) {
			return s.violation("the server selected cipher %d, which was not offered", s.cipher)
		}
	}
	return nil
}

func (d *opener) login(ctx context.Context, s *session, t *target) error {
	domain, user := splitUser(t.login.Name)
	if strings.EqualFold(user, "guest") && t.login.Password == "" {
		return s.setup(smb2.Account{Domain: domain, User: user}, true)
	}
	var refused error
	for attempt := 1; ; attempt++ {
		cred, err := d.env.Credential(ctx,
			fetch.Challenge{URL: t.url, Mechanism: "smb", User: t.login.Name, Attempt: attempt})
		if errors.Is(err, fetch.ErrAuth) && attempt == 1 {
			return &fetch.Error{Code: fetch.ErrAuth,
				Err:  errors.New("no user name and password to log in with"),
				Hint: "supply a user name and password, or name the user guest in the URL"}
		}
		if errors.Is(err, fetch.ErrAuth) || attempt > maxLogins {
			return refused
		}
		if err != nil {
			return err
		}
		ownDomain, ownUser := splitUser(cred.User)
		a := smb2.Account{Domain: cmp.Or(ownDomain, domain), User: cmp.Or(ownUser, user),
			Password: cred.Password}
		name := fetch.Credential{User: a.Domain + ";" + a.User, Password: a.Password}
		err = d.tried.Send(ctx, d.env, t.url, name, func() error { return s.setup(a, false) })
		if s.err != nil || !errors.Is(err, fetch.ErrAuth) ||
			errors.Is(err, errGuest) || errors.Is(err, errAccount) {
			return err
		}
		refused = err
	}
}

// splitUser splits "domain;user" or "domain\user". Without a separator, domain is "".
func splitUser(name string) (domain, user string) {
	if i := strings.IndexAny(name, `;\`); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

var errGuest = errors.New("the server does not know the user and offers a guest session")

// setup logs in with one account. If guest is true, a guest session is accepted.
func (s *session) setup(a smb2.Account, allowGuest bool) error {
	for _, text := range []string{a.Domain, a.User, a.Password} {
		if _, ok := smb2.AppendUTF16(nil, text); !ok {
			return fetch.ErrAuth.Errorf("user name and password must be valid UTF-8")
		}
	}
	savedHash := s.hash
	s.sessionID = 0
	first := smb2.NTLMNegotiate()
	m, r, token, err := s.token(smb2.FirstToken(first))
	if err == nil && m.Status == smb2.StatusSuccess {
		err = s.violation("the server accepted the login without a password")
	}
	if err != nil {
		return err
	}
	s.hash.Add(m.b)
	s.sessionID = m.SessionID
	var next, key []byte
	challenge, err := smb2.NTLMToken(token)
	if err == nil {
		next, key, err = smb2.NTLMAuthenticate(first, challenge, a)
	}
	if err != nil {
		return s.violation("%v", err)
	}
	if m, r, _, err = s.token(smb2.LastToken(next, key)); err != nil {
		s.hash = savedHash
		return err
	}
	isGuest := r.SessionFlags&(smb2.SessionFlagIsGuest|smb2.SessionFlagIsNull) != 0
	switch {
	case m.Status != smb2.StatusSuccess:
		return s.violation("the server requires further login messages")
	case isGuest && allowGuest:
		return nil
	case isGuest:
		return s.fail(&fetch.Error{Code: fetch.ErrAuth, Err: errGuest,
			Hint: "name the user guest in the URL to accept a guest session"})
	}
	s.signer = smb2.NewSigner(s.dialect, s.signing, key, &s.hash)
	if !s.signer.Verify(m.b) {
		return s.violation("bad signature of the login response: " +
			"the server may not know the password, or messages were modified in transit")
	}
	if s.cipher != 0 {
		if s.sealer, err = smb2.NewSealer(s.dialect, s.cipher, s.sessionID, key, &s.hash); err != nil {
			return s.fail(err)
		}
	}
	if r.SessionFlags&smb2.SessionFlagEncryptData != 0 {
		return s.encrypt("session")
	}
	return nil
}

// The server requires encryption of all further messages for a "session" or a "share".
func (s *session) encrypt(object string) error {
	switch {
	case s.sealer != nil:
	case s.signer == nil:
		return s.fail(&fetch.Error{Code: fetch.ErrRefused,
			Err:  fmt.Errorf("the server requires encryption for the %s, which requires a password", object),
			Hint: "supply a user name and password"})
	default:
		return s.fail(fetch.ErrRefused.Errorf("the server requires encryption for the %s, but no cipher "+
			"was negotiated", object))
	}
	s.encryptAll = true
	return nil
}

func (s *session) token(token []byte) (message, smb2.SessionSetupResponse, []byte, error) {
	var r smb2.SessionSetupResponse
	m, token, err := s.roundTrip(smb2.SessionSetup, len(token),
		&smb2.SessionSetupRequest{SecurityMode: smb2.SigningRequired}, token,
		&r, smb2.StatusMoreProcessingRequired)
	return m, r, token, err
}

func (s *session) connectTree(name string) error {
	var r smb2.TreeConnectResponse
	m, _, err := s.roundTrip(smb2.TreeConnect, 0, &smb2.TreeConnectRequest{}, smb2.UTF16(name), &r)
	switch {
	case err != nil:
		return err
	case r.ShareType != smb2.ShareTypeDisk && r.ShareType != smb2.ShareTypePipe:
		return fetch.ErrRefused.Errorf("the share is a printer")
	}
	s.treeID = m.TreeID
	if r.ShareFlags&smb2.ShareFlagEncryptData != 0 {
		return s.encrypt("share")
	}
	return nil
}
