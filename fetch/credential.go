package fetch

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch/uri"
)

// Credentials is a source of user names, passwords and other secrets. If it has none for a
// challenge, Credential returns an error that matches ErrAuth.
type Credentials interface {
	Credential(ctx context.Context, ch Challenge) (Credential, error)
}

// The CredentialsFunc type is an adapter to use functions as Credentials.
type CredentialsFunc func(ctx context.Context, ch Challenge) (Credential, error)

// Credential calls f(ctx, ch).
func (f CredentialsFunc) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	return f(ctx, ch)
}

// A CredentialSource is implemented by Credentials that can name the place they would read, without
// a lookup or a prompt. Source returns "" if there is none for ch.
type CredentialSource interface {
	Source(ch Challenge) string
}

// ChainCredentials returns Credentials that ask each provider until one returns a credential. A
// second attempt continues with the provider after the one whose credential was rejected, and sets
// Challenge.Tried if that had a password. The chain keeps no state and asks the earlier providers
// again to find that one, so a provider that prompts the user should be the last.
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
			refused-- // its credential was rejected
			ch.Tried = ch.Tried || cred.Password != ""
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

// A Credential is a user name and a password. Account is for FTP's ACCT.
type Credential struct{ User, Password, Account string }

// A Challenge is a server's request for a Credential.
type Challenge struct {
	URL uri.URI // the URL being opened
	// the resource of another origin that led here, otherwise the one that led to URL; may be zero
	From      uri.URI
	Foreign   bool   // as Env.Foreign: the user's credentials must not be used. Env.Credential sets it
	Mechanism string // "ftp", "nntp", "basic", "digest", "ldap", "proxy"
	Realm     string // as named by the server, or ""
	Question  bool   // Realm asks for something else than a password, such as a code; see RFC 4256
	User      string // the user name if it is already known, or ""
	Attempt   int    // from 1; more than 1 means that the previous credential was rejected
	Unasked   bool   // the server has not asked yet, so a user should not be asked either
	Tried     bool   // a password of the URL or of an earlier source was rejected. Env.Credential sets it
}
