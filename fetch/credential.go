package fetch

import (
	"context"
	"errors"
)

// Credentials supplies secrets. A provider that has none for a challenge returns an error that
// matches ErrAuth.
type Credentials interface {
	Credential(ctx context.Context, ch Challenge) (Credential, error)
}

// A CredentialsFunc is a function that implements Credentials.
type CredentialsFunc func(ctx context.Context, ch Challenge) (Credential, error)

// Credential calls f.
func (f CredentialsFunc) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	return f(ctx, ch)
}

// A CredentialSource is a Credentials that can say where it would look, without looking or
// prompting. Source returns "" if it has nothing for ch.
type CredentialSource interface {
	Source(ch Challenge) string
}

// ChainCredentials asks each provider in turn until one has an answer. The second attempt goes to
// the provider after the one that answered the first. The chain keeps no state, so it asks the
// earlier providers again to find out which one that was: a provider that prompts the user should
// be the last.
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
			refused-- // its answer was tried and rejected
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
