package pop

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// timestampPattern matches an RFC 822 msg-id in ASCII, which RFC 1939, section 7 requires for a
// timestamp. A server could craft other timestamps so that the digests reveal parts of the
// password.
var timestampPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<[!-;=?A-~]+@[!-;=?A-~]+>`)
})

func parseTimestamp(greeting string) string { return timestampPattern().FindString(greeting) }

func (d *opener) logIn(ctx context.Context, srv *mailsession.Server, s *session) error {
	method, err := s.method(srv.Auth)
	if err != nil {
		return err
	}
	if err := s.CheckPlaintext(d.opts.AllowPlaintext || method == apopMechanism, "pop"); err != nil {
		return err
	}
	return s.LogIn(ctx, srv, "pop", mailsession.MaxLogins, &d.tried,
		func(cred fetch.Credential) error { return s.authenticate(method, cred) })
}

func (s *session) method(mechanism string) (string, error) {
	_, user := s.caps["USER"]
	plain := strings.Contains(" "+s.caps["SASL"]+" ", " PLAIN ")
	switch {
	case mechanism == apopMechanism && s.timestamp == "":
		return "", fetch.ErrAuth.Errorf("the server's greeting has no timestamp for APOP")
	case mechanism == apopMechanism, mechanism == "" && !s.Secure && s.timestamp != "":
		return apopMechanism, nil
	case mechanism == "PLAIN", mechanism == "" && plain && !user:
		return "PLAIN", nil
	case mechanism == "":
		return "USER", nil
	}
	return "", fetch.ErrAuth.Errorf("unsupported login mechanism %s: urlget supports PLAIN and APOP",
		fetch.Printable(mechanism))
}

func (s *session) authenticate(method string, cred fetch.Credential) error {
	switch method {
	case apopMechanism:
		sum := md5.Sum([]byte(s.timestamp + cred.Password))
		_, err := s.expectSecret("APOP "+cred.User+" "+hex.EncodeToString(sum[:]),
			"APOP "+cred.User+" ********")
		return err
	case "PLAIN":
		return s.authenticatePlain(cred)
	}
	if _, err := s.expect("login", "USER "+cred.User); err != nil {
		return err
	}
	_, err := s.expectSecret("PASS "+cred.Password, "PASS ********")
	return err
}

// expectSecret is expect for a line that the trace shows as redacted.
func (s *session) expectSecret(line, redacted string) (string, error) {
	if err := s.Lines.SendSecret(line, redacted); err != nil {
		return "", err
	}
	return s.status("login")
}

// authenticatePlain authenticates with SASL PLAIN (RFC 4616). It sends the initial response in the
// command, or separately if the command would be too long (RFC 5034, section 4) or the server does
// not take it from the command (RFC 1734).
func (s *session) authenticatePlain(cred fetch.Credential) error {
	const command, maxCommand = "AUTH PLAIN", 253
	initial, err := mailsession.Plain(cred)
	if err != nil {
		return err
	}
	complete := len(command)+1+len(initial) <= maxCommand
	if complete {
		err = s.Lines.SendSecret(command+" "+initial, command+" ********")
	} else {
		err = s.Lines.Send(command)
	}
	if err != nil {
		return err
	}
	line, err := s.reply()
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+OK"): // the server requests the response
	case complete:
		_, err := s.parseStatus("login", line)
		return err
	default:
		return failure("login", strings.TrimPrefix(line, "-ERR "))
	}
	_, err = s.expectSecret(initial, "********")
	return err
}
