package ftp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A session is a login at a server, and the state that commands have set since.
type session struct {
	conversation
	control *control // the conversation; nil in a dry run
	opts    *Options

	private  bool            // data connections use TLS
	typ      string          // TYPE in force; "" is the default, ASCII Non-print; or unknownType
	features map[string]bool // what FEAT named, in upper case; nil if not asked
	noEPSV   bool            // the server or something on the way does not take EPSV

	// home is the name of the login directory, if it was asked for. cwd are the arguments of CWD
	// since.
	home string
	cwd  []string
	lost bool // the present directory is unknown

	broken atomic.Bool // the connection is to be closed without QUIT
}

// isAt reports whether no CWD is needed to get to dirs.
func (s *session) isAt(dirs []string) bool { return slices.Equal(s.cwd, dirs) }

// reusable reports whether the connection can serve another task after one that ended with err.
func (s *session) reusable(err error) bool {
	return (err == nil || isRefusal(err) || errors.Is(err, driver.ErrNotModified) || errors.Is(err, driver.ErrRange)) &&
		!s.lost && s.control.lines.Err() == nil
}

// close ends the session. It sends QUIT only on an intact connection: on a broken one, another
// goroutine may still be reading.
func (s *session) close() {
	if s.broken.Load() {
		s.control.abort()
	} else {
		s.control.close()
	}
}

// maxAttempts bounds the user names and passwords tried on one connection.
const maxAttempts = 3

// A credentialFunc answers the server's demand for a user name and password.
type credentialFunc func(user string, attempt int) (driver.Credential, error)

// login connects, protects the connection as the options want it, and logs in (RFC 1738, section
// 3.2.1). What the URL does not say comes from credential; if there is no user name at all, the
// user is "anonymous" and the password an e-mail address.
func (s *session) login(ctx context.Context, t *task, credential credentialFunc, email string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.control != nil {
		release := s.control.bind(ctx)
		defer release()
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
			err = s.identify(cred, func() (driver.Credential, error) { return credential(cred.User, attempt) })
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

// identity returns the user to log in as. A password that the URL does not hold is looked up only
// when the server asks for it.
func (t *task) identity(credential credentialFunc, email string, attempt int) (cred driver.Credential, anonymous bool, err error) {
	login := t.url.Login
	if attempt == 1 && login.HasName && !login.HasPassword {
		return driver.Credential{User: login.Name}, false, nil
	}
	cred, err = credential(login.Name, attempt)
	switch {
	case err == nil && cred.User == "":
		cred.User = login.Name
	case errors.Is(err, driver.ErrAuth) && !login.HasName && attempt == 1:
		return driver.Credential{User: "anonymous", Password: email}, true, nil
	}
	return cred, false, err
}

// isAuthRefusal reports whether the server refused a user name or password.
func isAuthRefusal(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code == driver.ErrAuth && !e.Reply.IsZero()
}

// identify sends USER, and PASS and ACCT if the server asks for them.
func (s *session) identify(cred driver.Credential, ask func() (driver.Credential, error)) error {
	reply, err := s.ask(step{line: "USER " + cred.User}, 331, 332)
	if err != nil {
		return err
	}
	if reply.Code == 331 {
		if cred.Password == "" && cred.User != "anonymous" {
			answer, err := ask()
			switch {
			case errors.Is(err, driver.ErrAuth):
				return &driver.Error{Code: driver.ErrAuth, Err: fmt.Errorf("no password for %s", cred.User),
					Hint: "put it into the netrc file, or let it be asked for"}
			case err != nil:
				return err
			}
			cred.Password, cred.Account = answer.Password, answer.Account
		}
		if reply, err = s.ask(step{line: "PASS " + cred.Password, shown: "PASS ****"}, 332, 202); err != nil {
			return err
		}
	}
	if reply.Code == 332 {
		account := cred.Account
		if account == "" {
			account = s.opts.Account
		}
		if account == "" {
			e := refusal("the login", reply)
			e.Reason, e.Hint = driver.Reason{Kind: driver.ReasonAccount}, "the server wants an account beside the user name"
			return e
		}
		_, err = s.ask(step{line: "ACCT " + account, shown: "ACCT ****"})
	}
	return err
}

// ask sends one command and returns the reply, which must be of class 2 or one of the codes.
func (s *session) ask(cmd step, codes ...int) (wire.Reply, error) {
	var reply wire.Reply
	cmd.then = func(r wire.Reply) error {
		if reply = r; r.Code/100 != 2 && !slices.Contains(codes, r.Code) {
			return refusal(cmd.String(), r)
		}
		return nil
	}
	return reply, s.say(cmd)
}

// startTLS asks for TLS (RFC 4217, section 4).
func (s *session) startTLS(ctx context.Context) error {
	granted := false
	err := s.say(step{line: "AUTH TLS", then: func(r wire.Reply) error {
		if granted = r.Code/100 == 2; granted || s.opts.TLS == TLSTry {
			return nil
		}
		e := refusal("AUTH TLS", r)
		e.Code = driver.ErrTLS
		return e
	}})
	if err != nil || !granted {
		return err
	}
	return s.protect(ctx)
}

// protectData asks for TLS on data connections (RFC 4217, section 9).
func (s *session) protectData() error {
	if !s.protected() {
		return nil
	}
	return s.say(
		step{line: "PBSZ 0", then: func(wire.Reply) error { return nil }}, // PROT tells
		step{line: "PROT P", then: func(r wire.Reply) error {
			if r.Code/100 != 2 {
				e := refusal("PROT P", r)
				e.Code = driver.ErrTLS
				return e
			}
			s.private = true
			return nil
		}})
}

// feat asks which extensions the server has (RFC 2389). One that does not know FEAT has none.
func (s *session) feat() step {
	return step{line: "FEAT", then: func(r wire.Reply) error {
		s.features = make(map[string]bool)
		if r.Code/100 == 2 {
			if s.control != nil && isReader(r.Text()) {
				s.control.reader = true
			}
			for _, line := range r.Lines {
				name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				s.features[strings.ToUpper(name)] = true
			}
		}
		return nil
	}}
}

// walk returns the commands that lead to the directory. From a directory that is not above it, the
// only way is through the login directory: nothing is known of the syntax of the server's file
// names (RFC 1738, section 3.2.5).
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
				// The server may have obeyed those behind it.
				s.lost = s.lost || i < len(rest)-1
				return refusal(cmd.line, r)
			}
			s.cwd = append(slices.Clip(s.cwd), dir)
			return nil
		}
		steps = append(steps, cmd)
	}
	return steps, nil
}

// cutPrefix returns list without the leading prefix, and whether it begins with it.
func cutPrefix(list, prefix []string) ([]string, bool) {
	if len(list) < len(prefix) || !slices.Equal(list[:len(prefix)], prefix) {
		return nil, false
	}
	return list[len(prefix):], true
}

// directoryName returns the name in the reply to PWD, in which quotes are doubled (RFC 959,
// appendix II), or "" if there is none that could be sent back.
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

// unknownType is in force after a TYPE that may have been obeyed.
const unknownType = "?"

// setType returns the command for a transfer in typ, if it is needed.
func (s *session) setType(typ string) []step {
	if typ == s.typ || typ == "" && s.typ == "A" {
		return nil
	}
	arg := typ
	if arg == "" {
		arg = "A"
	}
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
