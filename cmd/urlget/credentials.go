package main

import (
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/config"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// withoutReplacedLogin returns u without the credentials that flags replace, as in curl. --user
// replaces the user and password, a password flag replaces the password, and so does the entry
// for that user in a required netrc file.
func withoutReplacedLogin(o *flags.Options, u uri.URI) uri.URI {
	user, has := u.User()
	_, hasPassword := u.Password()
	switch {
	case !has || strings.Contains(user, ";"): // ;AUTH= (mail) is more than a user name
	case o.Login.HasUser:
		return u.WithoutUserinfo()
	case hasPassword && (o.Login.HasPassword || o.Login.Ask || o.Login.Netrc || o.Login.NetrcFile != ""):
		if v, err := u.WithUser(user); err == nil {
			return v
		}
	}
	return u
}

// credentials returns the credential sources in order: flags, sections of the configuration file,
// netrc file, terminal. The client itself tries the URL first.
func (n *network) credentials() fetch.Credentials {
	s := n.opts
	flags := &flagLogin{logins: &n.logins, passwords: make(map[uri.Origin]string)}
	chain := []fetch.Credentials{flags}
	if n.config.Sectioned() {
		chain = append(chain, config.Logins{File: n.config})
	}
	switch {
	case s.Login.NetrcFile != "":
		chain = append(chain, &netrcLogin{&n.logins, netrc.New(s.Login.NetrcFile), flags})
	case s.Login.Netrc:
		chain = append(chain, &netrcLogin{&n.logins, netrc.New(netrc.Default().Path()), flags})
	case !s.Login.NoNetrc:
		file := netrc.Default()
		file.Warn = n.rep.con.Warn
		chain = append(chain, &netrcLogin{&n.logins, file, flags})
	}
	return fetch.ChainCredentials(append(chain,
		&terminalLogin{logins: &n.logins, replies: make(map[promptKey]promptReply)})...)
}

// logins decides which servers get the logins of the flags, and asks for passwords.
type logins struct {
	opts   *flags.Options
	dialog *dialog
	named  sync.Map // the origins that the user named. Only those get --user and --password.
	target uri.URI  // the URL of explain or of a session

	tls       *tls.Config // with the client certificate; nil for the defaults
	tlsLoaded bool
}

// loadTLS reads the files with certificates and keys, once, and prompts for the passphrase.
func (l *logins) loadTLS(ctx context.Context) (err error) {
	if !l.tlsLoaded {
		l.tls, err = tlsConfig(l.opts, func(file string) (string, error) {
			return l.dialog.askPassphrase(ctx, file)
		})
		l.tlsLoaded = err == nil
	}
	return err
}

// name records that the user named the origin of u.
func (l *logins) name(u uri.URI) { l.named.LoadOrStore(u.Origin(), true) }

// isNamed reports whether the user named the server of the challenge: in a URL or, for a URL without a
// host, with a flag or variable.
func (l *logins) isNamed(ctx context.Context, ch fetch.Challenge) bool {
	requested := l.target
	if j := job.FromContext(ctx); j != nil {
		requested = j.URL
	}
	_, named := l.named.Load(ch.URL.Origin())
	return !ch.Foreign && (named || requested.Host() == "")
}

// userFor returns the user name for a challenge: that of its URL, or else that of --user if the user
// named the server.
func (l *logins) userFor(ctx context.Context, ch fetch.Challenge) string {
	if ch.User == "" && l.isNamed(ctx, ch) {
		return l.opts.Login.User
	}
	return ch.User
}

// hasUser reports whether the user of userFor is known. The empty name of --user :TOKEN is.
func (l *logins) hasUser(ctx context.Context, ch fetch.Challenge) bool {
	return l.userFor(ctx, ch) != "" || l.opts.Login.HasUser && l.isNamed(ctx, ch)
}

type flagLogin struct {
	logins *logins
	mu     sync.Mutex
	// passwords holds the entered passwords by origin.
	passwords map[uri.Origin]string
}

func (l *flagLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	s := l.logins.opts
	user := l.logins.userFor(ctx, ch)
	if ch.Attempt > 1 || ch.Question || !l.logins.isNamed(ctx, ch) || !l.logins.hasUser(ctx, ch) ||
		!s.Login.HasPassword && !s.Login.Ask {
		return fetch.Credential{}, fetch.ErrAuth
	}
	if !s.Login.Ask {
		return fetch.Credential{User: user, Password: s.Login.Password}, nil
	}
	password, err := l.ask(ctx, ch, user)
	return fetch.Credential{User: user, Password: password}, err
}

// ask prompts for the password of a user, once per origin.
func (l *flagLogin) ask(ctx context.Context, ch fetch.Challenge, user string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	password, ok := l.passwords[ch.URL.Origin()]
	if !ok {
		var err error
		if password, err = l.logins.askPassword(ctx, ch, user); err != nil {
			return "", err
		}
		l.passwords[ch.URL.Origin()] = password
	}
	return password, nil
}

func (l *flagLogin) Source(ch fetch.Challenge) string {
	s := l.logins.opts
	switch {
	case !l.logins.isNamed(context.Background(), ch) || !l.logins.hasUser(context.Background(), ch):
		return ""
	case s.Login.Ask:
		return "terminal (--ask-password)"
	case s.Login.HasPassword:
		return "--user and --password"
	}
	return ""
}

// netrcLogin provides credentials from a netrc file, for the user of --user if it is set.
type netrcLogin struct {
	logins *logins
	file   *netrc.Source
	flags  *flagLogin
}

func (l *netrcLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	ch.User = l.logins.userFor(ctx, ch)
	cred, err := l.file.Credential(ctx, ch)
	if err == nil && cred.Password == "" && l.logins.isNamed(ctx, ch) { // flags supply it
		switch s := l.logins.opts; {
		case s.Login.HasPassword:
			cred.Password = s.Login.Password
		case s.Login.Ask:
			cred.Password, err = l.flags.ask(ctx, ch, cred.User)
		}
	}
	return cred, err
}

func (l *netrcLogin) Source(ch fetch.Challenge) string {
	ch.User = l.logins.userFor(context.Background(), ch)
	return l.file.Source(ch)
}

// terminalLogin prompts the user, if there is a terminal, after a challenge or if the user name is
// known. It does not prompt if an anonymous login is possible, or for a password that was given and
// rejected: scripts would wait for ever. Parallel transfers prompt once.
type terminalLogin struct {
	logins *logins
	mu     sync.Mutex
	// replies holds the last input, by mechanism, origin and realm.
	replies map[promptKey]promptReply
}

type promptKey struct {
	mechanism, realm, user string
	origin                 uri.Origin
	foreign                bool
}

type promptReply struct {
	fetch.Credential
	at time.Time
}

// promptLifetime is how long an input is reused for other transfers with the same challenge.
const promptLifetime = time.Minute

func (l *terminalLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	user := l.logins.userFor(ctx, ch)
	switch given := l.logins.opts.Login.HasPassword && l.logins.isNamed(ctx, ch); {
	case ch.Mechanism == "proxy", ch.Unasked,
		!l.logins.opts.Login.Ask && (ch.Tried || given && ch.Attempt > 1):
		return fetch.Credential{}, fetch.ErrAuth
	case !l.logins.dialog.Possible() && user != "" && ch.Attempt == 1:
		return fetch.Credential{User: user}, nil // no terminal to prompt for a password
	case !l.logins.dialog.Possible():
		return fetch.Credential{}, fetch.ErrAuth
	}
	key := promptKey{ch.Mechanism, ch.Realm, user, ch.URL.Origin(), ch.Foreign}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cred, ok := l.replies[key]; ok && ch.Attempt == 1 && time.Since(cred.at) < promptLifetime {
		return cred.Credential, nil
	}
	if user == "" || ch.Attempt > 1 {
		if ch.Realm == "" {
			return fetch.Credential{}, fetch.ErrAuth
		}
		var err error
		if user, err = l.logins.dialog.Ask(ctx,
			"User for "+fetch.Printable(ch.Realm)+" at "+ch.URL.Host()+": ", false); err != nil {
			return fetch.Credential{}, err
		}
	}
	password, err := l.logins.askPassword(ctx, ch, user)
	if err != nil {
		return fetch.Credential{}, err
	}
	cred := fetch.Credential{User: user, Password: password}
	l.replies[key] = promptReply{cred, time.Now()}
	return cred, nil
}

func (l *logins) askPassword(ctx context.Context, ch fetch.Challenge, user string) (string, error) {
	return l.dialog.Ask(ctx, "Password for "+fetch.Printable(user)+" at "+ch.URL.Host()+": ", true)
}
