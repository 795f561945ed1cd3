package ftp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A session is a login on a server and the state set by later commands.
type session struct {
	conversation
	control  *control // equal to conversation; nil in a dry run
	opts     *Options
	restarts *restarts // of the driver
	// sendLogin calls send, unless the server has refused the login before.
	sendLogin func(cred fetch.Credential, send func() error) error

	private  bool            // data connections use TLS
	typ      string          // current TYPE; "" is the default, ASCII Non-print; or unknownType
	features map[string]bool // in the reply to FEAT, in upper case; nil before
	hashes   string          // the hash functions of HASH in that reply
	noEPSV   bool            // the server or a middlebox does not accept EPSV

	// home is the login directory, if PWD was sent. cwd are the arguments of CWD since then.
	home string
	cwd  []string
	lost bool // the current directory is unknown

	broken    atomic.Bool // the connection is closed without QUIT
	unsettled atomic.Bool // the replies to ABOR have not been read; see settle
}

func (s *session) isAt(dirs []string) bool { return slices.Equal(s.cwd, dirs) }

func (s *session) reusable(err error) bool {
	intact := err == nil || isRefusal(err) ||
		errors.Is(err, fetch.ErrNotModified) || errors.Is(err, fetch.ErrRange)
	return intact && !s.lost && s.control.lines.Err() == nil
}

// close ends the session. It sends QUIT only on an intact connection, because another goroutine may
// still read a broken one.
func (s *session) close() {
	if s.broken.Load() {
		s.control.abort()
	} else {
		s.control.close()
	}
}

// maxAttempts limits the logins tried on one connection.
const maxAttempts = 3

type credentialFunc func(user string, attempt int) (fetch.Credential, error)

// login connects, starts TLS according to the options, and logs in (RFC 1738, section 3.2.1).
// Missing parts of the URL come from credential. Without a user name the user is "anonymous", and
// the password is an e-mail address.
func (s *session) login(ctx context.Context, t *task, credential credentialFunc, email string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.control != nil {
		defer s.control.conn.Bind(ctx)()
	}
	if s.opts.TLS != TLSOff && !t.implicit() {
		if err := s.startTLS(ctx); err != nil {
			return err
		}
	}
	var refused error
	for attempt := 1; ; attempt++ {
		cred, anonymous, err := t.identity(credential, email, attempt)
		if err != nil && refused != nil {
			return refused
		}
		if err == nil {
			err = s.identify(cred, func() (fetch.Credential, error) {
				return credential(cred.User, attempt)
			})
		}
		if err == nil {
			break
		}
		if anonymous || attempt == maxAttempts || !isAuthRefusal(err) {
			return err
		}
		refused = err
	}
	return s.protectData()
}

// identity returns the credentials to log in with. A password that the URL does not have is looked
// up only when the server requests it.
func (t *task) identity(
	credential credentialFunc, email string, attempt int,
) (cred fetch.Credential, anonymous bool, err error) {
	login := t.url.Login
	if attempt == 1 && login.HasName && !login.HasPassword {
		return fetch.Credential{User: login.Name}, false, nil
	}
	cred, err = credential(login.Name, attempt)
	switch {
	case err == nil && cred.User == "":
		cred.User = login.Name
	case errors.Is(err, fetch.ErrAuth) && !login.HasName && attempt == 1:
		return fetch.Credential{User: "anonymous", Password: email}, true, nil
	}
	return cred, false, err
}

func isAuthRefusal(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Code == fetch.ErrAuth && !e.Reply.IsZero()
}

func (s *session) identify(cred fetch.Credential, ask func() (fetch.Credential, error)) error {
	reply, err := s.ask(step{line: "USER " + cred.User}, 331, 332)
	if err != nil {
		return err
	}
	if reply.Code == 331 {
		if cred.Password == "" && cred.User != "anonymous" {
			answer, err := ask()
			switch {
			case errors.Is(err, fetch.ErrAuth):
				return &fetch.Error{Code: fetch.ErrAuth, Err: fmt.Errorf("no password for %s", cred.User),
					Hint: "add it to the netrc file, or allow prompts"}
			case err != nil:
				return err
			}
			cred.Password, cred.Account = answer.Password, answer.Account
		}
		err = s.sendLogin(cred, func() (err error) {
			reply, err = s.ask(step{line: "PASS " + cred.Password, shown: "PASS ****"}, 332, 202)
			return err
		})
		if err != nil {
			return err
		}
	}
	if reply.Code == 332 {
		account := cmp.Or(cred.Account, s.opts.Account)
		if account == "" {
			e := refusal("the login", reply)
			e.Reason.Kind = fetch.ReasonAccount
			e.Hint = "the server requires an account in addition to the user name"
			return e
		}
		_, err = s.ask(step{line: "ACCT " + account, shown: "ACCT ****"})
	}
	return err
}

// exchange sends one command and returns the reply, whatever its code is.
func (s *session) exchange(cmd step) (reply wire.Reply, err error) {
	cmd.then = func(r wire.Reply) error {
		reply = r
		return nil
	}
	err = s.say(cmd)
	return reply, err
}

// ask is exchange with a check of the code: it must be 2yz or one of codes.
func (s *session) ask(cmd step, codes ...int) (wire.Reply, error) {
	r, err := s.exchange(cmd)
	if err == nil && r.Code/100 != 2 && !slices.Contains(codes, r.Code) {
		err = refusal(cmd.String(), r)
	}
	return r, err
}

// RFC 4217, section 4.
func (s *session) startTLS(ctx context.Context) error {
	r, err := s.exchange(step{line: "AUTH TLS"})
	switch {
	case err != nil:
		return err
	case r.Code/100 == 2:
		return s.protect(ctx)
	case s.opts.TLS == TLSTry:
		return nil
	}
	e := refusal("AUTH TLS", r)
	e.Code = fetch.ErrTLS
	return e
}

// RFC 4217, section 9.
func (s *session) protectData() error {
	if !s.protected() {
		return nil
	}
	return s.say(
		step{line: "PBSZ 0", then: func(wire.Reply) error { return nil }}, // only the reply to PROT matters
		step{line: "PROT P", then: func(r wire.Reply) error {
			if r.Code/100 != 2 {
				e := refusal("PROT P", r)
				e.Code = fetch.ErrTLS
				return e
			}
			s.private = true
			return nil
		}})
}

// A server without FEAT (RFC 2389) has no extensions.
func (s *session) feat() step {
	return step{line: "FEAT", then: func(r wire.Reply) error {
		s.features = make(map[string]bool)
		if r.Code/100 == 2 {
			if s.control != nil && canPipeline(r.Text()) {
				s.control.canPipeline = true
			}
			for _, line := range r.Lines {
				name, facts, _ := strings.Cut(strings.TrimSpace(line), " ")
				name = strings.ToUpper(name)
				if s.features[name] = true; name == "HASH" {
					s.hashes = facts
				}
			}
		}
		return nil
	}}
}

// walk returns the commands that change to a directory. If it is not below the current one, CWD to
// the login directory comes first: the server's file name syntax is unknown (RFC 1738, section
// 3.2.5).
func (s *session) walk(dirs []string) ([]step, error) {
	var steps []step
	rest, below := cutPrefix(dirs, s.cwd)
	switch {
	case !below && s.home == "":
		return nil, fmt.Errorf("%w: no way back to the login directory", errUnusable)
	case !below:
		rest = dirs
		steps = append(steps, step{line: "CWD " + s.home, then: func(r wire.Reply) error {
			if r.Code/100 != 2 {
				return fmt.Errorf("%w: no way back to the login directory", errUnusable)
			}
			s.cwd = nil
			return nil
		}})
	case len(s.cwd) == 0 && len(rest) > 0 && s.home == "":
		steps = append(steps, step{line: "PWD", then: func(r wire.Reply) error {
			if r.Code == 257 {
				s.home = directoryName(r.Text())
			}
			return nil
		}})
	}
	for i, dir := range rest {
		cmd := step{line: "CWD " + dir}
		cmd.then = func(r wire.Reply) error {
			if r.Code/100 != 2 {
				if i < len(rest)-1 { // the server may have executed later commands
					s.cwd, s.lost = elsewhere, s.lost || s.home == ""
				}
				return refusal(cmd.line, r)
			}
			s.cwd = append(slices.Clip(s.cwd), dir)
			return nil
		}
		steps = append(steps, cmd)
	}
	return steps, nil
}

// elsewhere is an unknown directory: no name in a URL contains NUL. The way out is the login directory.
var elsewhere = []string{"\x00"}

func cutPrefix(list, prefix []string) ([]string, bool) {
	if len(list) < len(prefix) || !slices.Equal(list[:len(prefix)], prefix) {
		return nil, false
	}
	return list[len(prefix):], true
}

// directoryName returns the name in the reply to PWD, in which quotes are doubled (RFC 959,
// appendix II). It returns "" if the name is missing or cannot be sent.
func directoryName(text string) string {
	_, quoted, ok := strings.Cut(text, `"`)
	if !ok {
		return ""
	}
	var name strings.Builder
	for {
		part, rest, ok := strings.Cut(quoted, `"`)
		if !ok {
			return ""
		}
		name.WriteString(part)
		if !strings.HasPrefix(rest, `"`) {
			break
		}
		name.WriteByte('"')
		quoted = rest[1:]
	}
	if wire.CheckLine(name.String()) != nil {
		return ""
	}
	return name.String()
}

// unknownType is the type after a TYPE that may have been executed.
const unknownType = "?"

func (s *session) setType(typ string) []step {
	if typ == s.typ || typ == "" && s.typ == "A" {
		return nil
	}
	arg := cmp.Or(typ, "A")
	cmd := step{line: "TYPE " + arg}
	cmd.then = func(r wire.Reply) error {
		if r.Code/100 != 2 {
			return refusal(cmd.line, r)
		}
		s.typ = arg
		return nil
	}
	return []step{cmd}
}
