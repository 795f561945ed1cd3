package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch/uri"
)

// secrets are the logins and cookies of a crawl. They are stored once, in Engine.Secrets, so that its
// jobs, results and dead letters do not contain them.
type secrets struct {
	// Logins has a seed with its login for each site (see [uri.URI.Site]).
	Logins map[string]uri.URI `json:"logins,omitempty"`
	// Cookies is a file in Netscape format.
	Cookies []byte `json:"cookies,omitempty"`

	revision uint64 // in Engine.Secrets; 0 if the crawl has no secrets
}

const secretsKey = "all" // key of the secrets in Engine.Secrets

func loadSecrets(ctx context.Context, e Engine) (*secrets, error) {
	data, revision, err := e.Secrets().Get(ctx, secretsKey)
	if errors.Is(err, ErrNotFound) {
		return &secrets{}, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := decodeSecrets(data)
	if err != nil {
		return nil, err
	}
	s.revision = revision
	return s, nil
}

// decodeSecrets parses stored secrets. Its errors do not quote them.
func decodeSecrets(data []byte) (*secrets, error) {
	s := &secrets{}
	if len(data) > maxSubmission || json.Unmarshal(data, s) != nil {
		return nil, refused(nil, errors.New("the stored logins and cookies of the crawl are invalid"))
	}
	return s, nil
}

// changeSecrets updates the secrets of the crawl and returns the stored ones. Change may be called
// several times. If it returns false, they are not changed.
func changeSecrets(ctx context.Context, e Engine, change func(*secrets) bool) (*secrets, error) {
	err := replace(ctx, e.Secrets(), secretsKey, func(old []byte, exists bool) ([]byte, error) {
		s := &secrets{}
		if exists {
			var err error
			if s, err = decodeSecrets(old); err != nil {
				return nil, err
			}
		}
		if !change(s) {
			return nil, nil
		}
		data, err := json.Marshal(s)
		if most := longest(e); err == nil && len(data) > most {
			err = refused(nil,
				fmt.Errorf("the logins and cookies of the crawl have %d bytes, and the limit is %d",
					len(data), most))
		}
		return data, err
	})
	if err != nil {
		return nil, err
	}
	return loadSecrets(ctx, e)
}

func withLogin(seed uri.URI) func(*secrets) bool {
	return func(s *secrets) bool {
		site := seed.Site()
		if s.Logins[site].Userinfo() == seed.Userinfo() {
			return false
		}
		if s.Logins == nil {
			s.Logins = map[string]uri.URI{}
		}
		s.Logins[site] = seed
		return true
	}
}

// SetCookies replaces the cookies of the crawl by those of a file in Netscape format. An empty file
// removes them. Workers pass them to Worker.Cookies before they take the jobs of later calls of
// Submit, and all others within seconds. SetCookies must not be called concurrently with other
// methods of c. While the engine is unreachable, it retries for half a minute.
//
// The cookies and the logins of all seeds share one message. If it would be longer than
// Limits.Message or 1 MiB, the error has class fetch.ErrRequest.
func (c *Crawl) SetCookies(ctx context.Context, e Engine, file []byte) error {
	return submitWithRetry(ctx, e, func(ctx context.Context, _ int) (err error) {
		stored, err := changeSecrets(ctx, e, func(s *secrets) bool {
			s.Cookies = file
			return true
		})
		if err == nil {
			c.secrets = stored
		}
		return err
	})
}
