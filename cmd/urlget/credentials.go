package main

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// login reads the user's login from the flags.
func (a *app) login() error {
	s := &a.set
	user, password, both := strings.Cut(s.user, ":")
	both = both && password != ""
	s.user = user
	ways := 0
	for _, given := range []bool{both, s.given("password"), s.passwordFile != "", s.ask} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usage("--user USER:PASSWORD, --password, --password-file and --ask-password exclude each other")
	case s.noNetrc && (s.netrc || s.netrcFile != ""):
		return usage("--no-netrc excludes --netrc and --netrc-file")
	case both:
		s.password = password
	case s.passwordFile != "":
		line, err := firstLine(s.passwordFile)
		if err != nil {
			return fileError(err)
		}
		s.password = line
	}
	s.hasPassword = ways > 0 && !s.ask
	return nil
}

// overruled returns u without the parts of its login that flags replace, as in curl: --user goes
// before the user and the password of a URL, a flag for the password before its password, and a
// netrc file that is insisted on before a login with a password.
func (s *settings) overruled(u uri.URI) uri.URI {
	user, has := u.User()
	_, hasPassword := u.Password()
	switch {
	case !has || strings.Contains(user, ";"): // ;AUTH= of mail says more than who
	case s.user != "", hasPassword && (s.netrc || s.netrcFile != "") && !s.hasPassword && !s.ask:
		return u.WithoutUserinfo()
	case hasPassword && (s.hasPassword || s.ask):
		if v, err := u.WithUser(user); err == nil {
			return v
		}
	}
	return u
}

// firstLine returns the first line of a file, without its line ending.
func firstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	line, err := readLine(f)
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// credentials returns the sources of logins, in order: the flags, the sections of the configuration
// file, the netrc file, the terminal. The client itself tries the URL first.
func (a *app) credentials() fetch.Credentials {
	s := &a.set
	flags := &flagLogin{app: a}
	chain := []fetch.Credentials{flags}
	if a.config.sectioned() {
		chain = append(chain, sectionLogin{a})
	}
	switch {
	case s.netrcFile != "":
		chain = append(chain, &netrcLogin{a, netrc.New(s.netrcFile), flags})
	case s.netrc:
		chain = append(chain, &netrcLogin{a, netrc.New(netrc.Default().Path()), flags})
	case !s.noNetrc:
		file := netrc.Default()
		file.Warn = a.con.warn
		chain = append(chain, &netrcLogin{a, file, flags})
	}
	return fetch.ChainCredentials(append(chain, &terminalLogin{app: a})...)
}

// typed remembers the origins that the user named. Only those get what --user and --password say.
type typed struct {
	mu      sync.Mutex
	origins map[uri.Origin]bool
}

func (t *typed) add(u uri.URI) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.origins == nil {
		t.origins = make(map[uri.Origin]bool)
	}
	t.origins[u.Origin()] = true
}

func (t *typed) has(u uri.URI) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.origins[u.Origin()]
}

// named reports whether the user named the server that asks: in a URL or, for a URL without a host,
// with a flag or variable.
func (a *app) named(ctx context.Context, ch fetch.Challenge) bool {
	var asked uri.URI
	if j := job.FromContext(ctx); j != nil {
		asked = j.URL
	} else {
		asked = a.about
	}
	return !ch.Foreign && (a.typed.has(ch.URL) || asked.Host() == "")
}

// userFor returns the user name for a challenge: that of its URL, or else that of --user if the
// user named the server that asks.
func (a *app) userFor(ctx context.Context, ch fetch.Challenge) string {
	if ch.User == "" && a.named(ctx, ch) {
		return a.set.user
	}
	return ch.User
}

// flagLogin answers with --user, --password and --ask-password.
type flagLogin struct {
	app *app
	mu  sync.Mutex
	// answered holds the passwords that have been entered, by origin.
	answered map[uri.Origin]string
}

func (l *flagLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	s := &l.app.set
	user := l.app.userFor(ctx, ch)
	if ch.Attempt > 1 || !l.app.named(ctx, ch) || user == "" || !s.hasPassword && !s.ask {
		return fetch.Credential{}, fetch.ErrAuth
	}
	if !s.ask {
		return fetch.Credential{User: user, Password: s.password}, nil
	}
	password, err := l.ask(ctx, ch, user)
	return fetch.Credential{User: user, Password: password}, err
}

// ask asks once for the password of a user at each origin.
func (l *flagLogin) ask(ctx context.Context, ch fetch.Challenge, user string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	password, ok := l.answered[ch.URL.Origin()]
	if !ok {
		var err error
		if password, err = l.app.askPassword(ctx, ch, user); err != nil {
			return "", err
		}
		if l.answered == nil {
			l.answered = make(map[uri.Origin]string)
		}
		l.answered[ch.URL.Origin()] = password
	}
	return password, nil
}

func (l *flagLogin) Source(ch fetch.Challenge) string {
	s := &l.app.set
	switch {
	case !l.app.named(context.Background(), ch) || l.app.userFor(context.Background(), ch) == "":
		return ""
	case s.ask:
		return "terminal (--ask-password)"
	case s.hasPassword:
		return "--user and --password"
	}
	return ""
}

// netrcLogin answers from a netrc file, for the name in --user if that is given.
type netrcLogin struct {
	app   *app
	file  *netrc.Source
	flags *flagLogin
}

func (l *netrcLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	ch.User = l.app.userFor(ctx, ch)
	cred, err := l.file.Credential(ctx, ch)
	if err == nil && cred.Password == "" && l.app.named(ctx, ch) { // a flag fills what the file leaves open
		switch s := &l.app.set; {
		case s.hasPassword:
			cred.Password = s.password
		case s.ask:
			cred.Password, err = l.flags.ask(ctx, ch, cred.User)
		}
	}
	return cred, err
}

func (l *netrcLogin) Source(ch fetch.Challenge) string {
	ch.User = l.app.userFor(context.Background(), ch)
	return l.file.Source(ch)
}

// terminalLogin prompts the user, if there is a terminal. It does so when the server asked or the
// user name is known, but not where an anonymous login is possible.
// Transfers that begin at once ask once.
type terminalLogin struct {
	app *app
	mu  sync.Mutex
	// answered is what the user said last, by mechanism, origin and realm.
	answered map[asked]reply
}

type asked struct {
	mechanism, realm, user string
	origin                 uri.Origin
	foreign                bool
}

type reply struct {
	fetch.Credential
	at time.Time
}

// oneAnswer is how long an answer holds for other transfers that ask the same.
const oneAnswer = time.Minute

func (l *terminalLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	user := l.app.userFor(ctx, ch)
	switch {
	case ch.Mechanism == "proxy":
		return fetch.Credential{}, fetch.ErrAuth
	case !l.app.prompt.possible() && user != "" && ch.Attempt == 1:
		return fetch.Credential{User: user}, nil // there is nobody to ask for a password
	case !l.app.prompt.possible():
		return fetch.Credential{}, fetch.ErrAuth
	}
	what := asked{ch.Mechanism, ch.Realm, user, ch.URL.Origin(), ch.Foreign}
	l.mu.Lock()
	defer l.mu.Unlock()
	if said, ok := l.answered[what]; ok && ch.Attempt == 1 && time.Since(said.at) < oneAnswer {
		return said.Credential, nil
	}
	if user == "" || ch.Attempt > 1 {
		if ch.Realm == "" {
			return fetch.Credential{}, fetch.ErrAuth
		}
		var err error
		if user, err = l.app.prompt.ask(ctx, "User for "+fetch.Printable(ch.Realm)+" at "+ch.URL.Host()+": ", false); err != nil {
			return fetch.Credential{}, err
		}
	}
	password, err := l.app.askPassword(ctx, ch, user)
	if err != nil {
		return fetch.Credential{}, err
	}
	if l.answered == nil {
		l.answered = make(map[asked]reply)
	}
	said := fetch.Credential{User: user, Password: password}
	l.answered[what] = reply{said, time.Now()}
	return said, nil
}

func (a *app) askPassword(ctx context.Context, ch fetch.Challenge, user string) (string, error) {
	return a.prompt.ask(ctx, "Password of "+fetch.Printable(user)+" at "+ch.URL.Host()+": ", true)
}
