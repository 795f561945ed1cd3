package fetch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/uri"
)

// Servers repeat commands in their replies, with the secrets in them: "500 'PASS x' not understood". So
// the secrets that a connection has sent are masked in what it receives: in lines, and in the bytes of the
// reply to the secret. Later bytes may be content, which is recorded as it is. The same secrets, and those
// of the request, are masked in the errors and in the reply of an exchange.

const (
	// maxSecrets bounds the secrets that a connection remembers. Drivers try a few logins.
	maxSecrets = 8
	// leastSecret is the length in bytes from which a secret is masked among bytes and in the words of an
	// error, not only in lines and replies.
	leastSecret = 4
)

// remember notes the secret in p, which is recorded as shown.
func (c *Conn) remember(p, shown []byte) {
	for len(p) > 0 && len(shown) > 0 && p[0] == shown[0] {
		p, shown = p[1:], shown[1:]
	}
	for len(p) > 0 && len(shown) > 0 && p[len(p)-1] == shown[len(shown)-1] {
		p, shown = p[:len(p)-1], shown[:len(shown)-1]
	}
	c.secrets.add(string(bytes.Trim(p, `"`))) // IMAP quotes it
}

// secrets is a set of up to maxSecrets strings. Its zero value is empty.
type secrets struct{ list atomic.Pointer[[]string] }

func (s *secrets) add(secret string) {
	for secret != "" {
		before := s.list.Load()
		all := s.all()
		if len(all) == maxSecrets || slices.Contains(all, secret) {
			return
		}
		all = append(slices.Clip(all), secret)
		if s.list.CompareAndSwap(before, &all) {
			return
		}
	}
}

func (s *secrets) all() []string {
	if all := s.list.Load(); all != nil {
		return *all
	}
	return nil
}

// addLogin notes a login that the driver got for the exchange, also for later exchanges of the connection.
func (p *provenance) addLogin(cred Credential) {
	if cred.Password == "" && cred.Account == "" {
		return
	}
	conn := p.conn.Load()
	for _, secret := range append(loginSecrets(cred.User, cred.Password), cred.Account) {
		p.secrets.add(secret)
		if conn != nil {
			conn.secrets.add(secret)
		}
	}
}

// loginSecrets returns a password, and the login as the schemes Basic of HTTP and PLAIN of SASL send it.
func loginSecrets(user, password string) []string {
	if password == "" {
		return nil
	}
	return []string{password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password)),
		base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))}
}

// knownSecrets returns the secrets of the exchange: those of req, of the logins that the driver got, and
// of its connections.
func (p *provenance) knownSecrets(req *Request) []string {
	all := slices.Clip(p.secrets.all())
	for _, u := range [...]uri.URI{req.URL, p.url, p.proxy.url} {
		if login := u.Userinfo(); login.HasPassword {
			all = append(all, loginSecrets(login.Name, login.Password)...)
		}
	}
	for name, values := range req.Header {
		if !IsSecretField(name) {
			continue
		}
		for _, v := range values {
			if _, token, ok := strings.Cut(v, " "); ok { // after the scheme of a login
				v = token
			}
			if len(v) >= leastSecret {
				all = append(all, v)
			}
		}
	}
	if c := p.conn.Load(); c != nil {
		all = append(all, c.secrets.all()...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.earlier {
		all = append(all, c.secrets.all()...)
	}
	return all
}

// maskReply masks the secrets that the server repeats in its reply.
func (p *provenance) maskReply(req *Request, r Reply) Reply {
	if r.Text != "" {
		r.Text = maskText(r.Text, p.knownSecrets(req))
	}
	return r
}

// maskError returns err without the secrets that the server repeats in its reply, or in data that err
// quotes.
func (p *provenance) maskError(req *Request, err error) error {
	known := p.knownSecrets(req)
	if len(known) == 0 {
		return err
	}
	e, ok := err.(*Error)
	if !ok {
		return maskCause(err, known)
	}
	dup := *e
	if dup.Reply.Text = maskText(e.Reply.Text, known); e.Err != nil {
		dup.Err = maskCause(e.Err, known)
	}
	return &dup
}

func maskCause(err error, known []string) error {
	isShort := func(secret string) bool { return len(secret) < leastSecret }
	known = slices.DeleteFunc(slices.Clone(known), isShort)
	text := causeText(err)
	if hidden := maskText(text, known); hidden != text {
		return &maskedError{hidden, err}
	}
	return err
}

// A maskedError is another error, whose text has a secret. It does not unwrap to it.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string        { return e.text }
func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *maskedError) As(target any) bool   { return errors.As(e.err, target) }

func maskText(text string, known []string) string {
	for _, secret := range known {
		text = strings.ReplaceAll(text, secret, "****")
	}
	return text
}

// maskLine returns what to record for a received line.
func (c *Conn) maskLine(line string) string { return maskText(line, c.secrets.all()) }

// maskBytes returns what to record for received bytes. Their number remains. The reply may be content, such
// as a document of Gopher or Gemini, where a short secret could be part of any word.
func (c *Conn) maskBytes(p []byte) []byte {
	if c.sentSecret.Load() && c.rec.Load().wantsBytes() {
		for _, secret := range c.secrets.all() {
			if len(secret) < leastSecret {
				continue
			}
			p = bytes.ReplaceAll(p, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
		}
	}
	return p
}
