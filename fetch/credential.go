package fetch

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch/uri"
)

// Credentials supplies secrets. A provider that has none for a challenge
// returns an error matching ErrAuth.
type Credentials interface {
	Credential(ctx context.Context, ch Challenge) (Credential, error)
}

// A CredentialsFunc is a function that serves as Credentials.
type CredentialsFunc func(ctx context.Context, ch Challenge) (Credential, error)

// Credential calls f.
func (f CredentialsFunc) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	return f(ctx, ch)
}

// A CredentialSource is a Credentials that can say where it would look,
// without looking or asking. Source returns "" if it has nothing for ch.
type CredentialSource interface {
	Source(ch Challenge) string
}

// A Credential is what proves an identity. Account is for FTP's ACCT.
type Credential struct{ User, Password, Account string }

// A Challenge is a server's demand for a Credential.
type Challenge struct {
	URL       uri.URI // what is being opened
	From      uri.URI // the resource that supplied URL; zero if the user did
	Mechanism string  // "ftp", "nntp", "basic", "digest", "ldap", "proxy"
	Realm     string  // as the server named it, if it did
	User      string  // the user name already known, or ""
	Attempt   int     // from 1; more than 1 means that the last answer was refused
}

// ChainCredentials asks each provider in turn until one has an answer. A
// second attempt asks the next provider after the one that answered the first.
// As the chain keeps no memory, it asks the earlier ones again to find out who
// that was: a provider that asks people must be the last.
func ChainCredentials(providers ...Credentials) Credentials { return chain(providers) }

type chain []Credentials

func (c chain) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	refused := ch.Attempt - 1
	for i, p := range c {
		if i == len(c)-1 {
			ch.Attempt = max(1, refused+1) // the last one, often a prompt, may be asked again
		} else {
			ch.Attempt = 1
		}
		cred, err := p.Credential(ctx, ch)
		switch {
		case errors.Is(err, ErrAuth):
			continue
		case err != nil:
			return Credential{}, err
		case refused > 0 && i < len(c)-1:
			refused-- // its answer was tried and refused
			continue
		}
		return cred, nil
	}
	return Credential{}, ErrAuth
}

func (c chain) Source(ch Challenge) string {
	for _, p := range c {
		if s, ok := p.(CredentialSource); ok {
			if where := s.Source(ch); where != "" {
				return where
			}
		}
	}
	return ""
}
