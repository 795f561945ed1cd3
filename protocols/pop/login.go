package pop

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// stampForm matches an RFC 822 msg-id in ASCII, which RFC 1939, section 7 requires for a timestamp.
// A server could craft other timestamps so that the digests reveal parts of the password.
var stampForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[!-;=?A-~]+@[!-;=?A-~]+>`) })

// stampOf returns the timestamp for APOP in a greeting, or "" if there is none.
func stampOf(greeting string) string { return stampForm().FindString(greeting) }

// logIn chooses a login method and logs in.
func (d *opener) logIn(ctx context.Context, srv *mailsession.Server, s *session) error {
	way, err := s.way(srv.Auth)
	if err != nil {
		return err
	}
	if err := s.PlaintextAllowed(d.opts.AllowPlaintext || way == apop, "pop"); err != nil {
		return err
	}
	return s.LogIn(ctx, srv, "pop", mailsession.MaxLogins, func(cred driver.Credential) error { return s.authenticate(way, cred) })
}

// way returns the login method: apop, "PLAIN" or "USER".
func (s *session) way(wanted string) (string, error) {
	_, user := s.caps["USER"]
	plain := strings.Contains(" "+s.caps["SASL"]+" ", " PLAIN ")
	switch {
	case wanted == apop && s.stamp == "":
		return "", &driver.Error{Code: driver.ErrAuth, Err: errors.New("the server's greeting has no stamp for APOP")}
	case wanted == apop, wanted == "" && !s.Secure && s.stamp != "":
		return apop, nil
	case wanted == "PLAIN", wanted == "" && plain && !user:
		return "PLAIN", nil
	case wanted == "":
		return "USER", nil
	}
	return "", &driver.Error{Code: driver.ErrAuth, Err: fmt.Errorf("urlget has no login by %s, but by PLAIN and APOP", driver.Printable(wanted))}
}

// authenticate tries to log in with one credential.
func (s *session) authenticate(way string, cred driver.Credential) error {
	switch way {
	case apop:
		sum := md5.Sum([]byte(s.stamp + cred.Password))
		_, err := s.secret("APOP "+cred.User+" "+hex.EncodeToString(sum[:]), "APOP "+cred.User+" ********")
		return err
	case "PLAIN":
		return s.plain(cred)
	}
	if _, err := s.expect("login", "USER "+cred.User); err != nil {
		return err
	}
	_, err := s.secret("PASS "+cred.Password, "PASS ********")
	return err
}

// secret is expect for a line that the trace shows as shown.
func (s *session) secret(line, shown string) (string, error) {
	if err := s.Lines.SendSecret(line, shown); err != nil {
		return "", err
	}
	return s.status("login")
}

// plain authenticates with SASL PLAIN (RFC 4616). It sends the initial response in the command, or
// separately if the command would be too long (RFC 5034, section 4).
func (s *session) plain(cred driver.Credential) error {
	const command, longest = "AUTH PLAIN", 253
	initial, err := mailsession.Plain(cred)
	if err != nil {
		return err
	}
	if len(command)+1+len(initial) <= longest {
		_, err := s.secret(command+" "+initial, command+" ********")
		return err
	}
	if err := s.Lines.Send(command); err != nil {
		return err
	}
	done := s.InTime()
	line, err := s.Lines.Line()
	done()
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case !strings.HasPrefix(line, "+") || strings.HasPrefix(line, "+OK"):
		return failure("login", strings.TrimPrefix(line, "-ERR "))
	}
	_, err = s.secret(initial, "********")
	return err
}
