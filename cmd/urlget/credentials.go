package main

import (
	"context"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// credentials returns where logins come from, in order: the flags, the netrc
// file, the terminal. The client itself asks the URL first.
func (a *app) credentials() fetch.Credentials {
	s := &a.set
	chain := []fetch.Credentials{&flagLogin{app: a}}
	switch {
	case s.netrcFile != "":
		chain = append(chain, &netrcLogin{a, netrc.New(s.netrcFile)})
	case s.netrc:
		chain = append(chain, &netrcLogin{a, netrc.New(netrc.Default().Path())})
	case !s.noNetrc:
		chain = append(chain, &netrcLogin{a, netrc.Default()})
	}
	return fetch.ChainCredentials(append(chain, &terminalLogin{app: a})...)
}

// typed remembers the origins that the user named. What --user and --password
// say is for them alone, wherever they may redirect to.
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
	t.origins[u.Origin(0)] = true
}

func (t *typed) has(u uri.URI) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.origins[u.Origin(0)]
}

// named reports whether the user named who asks: in a URL or, for a URL without
// a host, by a flag or variable.
func (a *app) named(ch fetch.Challenge) bool {
	return a.typed.has(ch.URL) || ch.From.IsZero() && a.job.url.Host() == ""
}

// userFor returns the user name for a challenge: that of its URL, else that of
// --user if the user named who asks.
func (a *app) userFor(ch fetch.Challenge) string {
	if ch.User == "" && a.named(ch) {
		return a.set.user
	}
	return ch.User
}

// flagLogin answers from --user, --password and --ask-password.
type flagLogin struct {
	app *app
	mu  sync.Mutex
	// answered is the password that was asked for, by origin.
	answered map[uri.Origin]string
}

func (l *flagLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	s := &l.app.set
	user := l.app.userFor(ch)
	if ch.Attempt > 1 || !l.app.named(ch) || user == "" || !s.given("password") && !s.ask {
		return fetch.Credential{}, fetch.ErrAuth
	}
	if !s.ask {
		return fetch.Credential{User: user, Password: s.password}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	password, ok := l.answered[ch.URL.Origin(0)]
	if !ok {
		var err error
		if password, err = l.app.askPassword(ctx, ch, user); err != nil {
			return fetch.Credential{}, err
		}
		if l.answered == nil {
			l.answered = make(map[uri.Origin]string)
		}
		l.answered[ch.URL.Origin(0)] = password
	}
	return fetch.Credential{User: user, Password: password}, nil
}

func (l *flagLogin) Source(ch fetch.Challenge) string {
	s := &l.app.set
	switch {
	case !l.app.named(ch) || l.app.userFor(ch) == "":
		return ""
	case s.ask:
		return "terminal (--ask-password)"
	case s.given("password"):
		return "--user and --password"
	}
	return ""
}

// netrcLogin answers from a netrc file, under the name of --user if that is
// given.
type netrcLogin struct {
	app  *app
	file *netrc.Source
}

func (l *netrcLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	ch.User = l.app.userFor(ch)
	return l.file.Credential(ctx, ch)
}

func (l *netrcLogin) Source(ch fetch.Challenge) string {
	ch.User = l.app.userFor(ch)
	return l.file.Source(ch)
}

// terminalLogin asks the user, if there is a terminal. It does so when the
// server asked or the user is known, not where there is an anonymous login.
type terminalLogin struct{ app *app }

func (l *terminalLogin) Credential(ctx context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	user := l.app.userFor(ch)
	switch {
	case ch.Mechanism == "proxy":
		return fetch.Credential{}, fetch.ErrAuth
	case !l.app.prompt.possible() && user != "" && ch.Attempt == 1:
		return fetch.Credential{User: user}, nil // whom no password may be asked of
	case !l.app.prompt.possible():
		return fetch.Credential{}, fetch.ErrAuth
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
	return fetch.Credential{User: user, Password: password}, err
}

func (a *app) askPassword(ctx context.Context, ch fetch.Challenge, user string) (string, error) {
	return a.prompt.ask(ctx, "Password of "+fetch.Printable(user)+" at "+ch.URL.Host()+": ", true)
}
