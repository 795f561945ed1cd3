package sftp

import (
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// A trial is a password that was sent and of which it is not known yet whether it is right. Package ssh
// does not report the result of each attempt: see login.settle.
type trial struct {
	login          driver.Login
	method, prompt string
	end            func()
}

const (
	passwordMethod    = "password"
	interactiveMethod = "keyboard-interactive"
)

// secret returns the next password for a method and increases next, its number. Passwords that the server
// has refused, also in other connections, are left out. Both methods use the same sequence of passwords.
func (l *login) secret(method, prompt string, next *int) (string, error) {
	if t := l.trial; t != nil && t.method == method && t.prompt == prompt {
		l.settle(refused)
	}
	l.settle(unclear)
	for *next < maxTries {
		*next++
		if err := l.lookUp(prompt, *next); err != nil {
			return "", err
		}
		password := l.passwords[*next-1]
		it := driver.Login{Origin: l.hop.url.Origin(), Foreign: l.foreign,
			User: l.hop.user, Password: password}
		isRefused, end, err := l.driver.tried.Try(l.clock.ctx, it)
		if err != nil {
			l.fatalErr = err
			return "", err
		}
		if isRefused {
			l.already = true
			continue
		}
		l.trial = &trial{it, method, prompt, end}
		l.hasCredential = true
		return password, nil
	}
	return "", fetch.ErrAuth
}

// lookUp requests passwords until there are n.
func (l *login) lookUp(prompt string, n int) error {
	for len(l.passwords) < n {
		cred, err := l.credential(prompt, len(l.passwords)+1)
		if err != nil {
			return err
		}
		if cred.User != "" && cred.User != l.hop.user {
			return fetch.ErrAuth // for another user
		}
		if cred.Password == "" {
			return fetch.ErrAuth
		}
		l.passwords = append(l.passwords, cred.Password)
	}
	return nil
}

type result int

const (
	unclear result = iota // there was another question, or the connection was lost
	accepted
	refused
)

// settle ends the trial, if there is one. A password was refused if the server asks for it again in the same
// words, if its method failed, or if the login did, without a question in between.
func (l *login) settle(r result) {
	if l.trial == nil {
		return
	}
	if r == accepted || r == refused && !l.questioned {
		l.driver.tried.Record(l.trial.login, r == accepted)
	}
	l.trial.end()
	l.trial = nil
}

// settleMethod settles the trial of a method that has succeeded, perhaps as one of several, or has failed.
func (l *login) settleMethod(c *ssh.ClientAuthContext) {
	switch {
	case l.trial == nil:
	case slices.Contains(c.PartialSuccessMethods, l.trial.method):
		l.settle(accepted)
	case slices.Contains(c.TriedMethods, l.trial.method):
		l.settle(refused)
	}
}
