package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/robots"
	"github.com/urlget/urlget/fetch"
)

// A sharedRules value shares robots.txt files among all workers. The worker with the lease of a
// server retrieves the file, and the others wait for it.
type sharedRules struct {
	engine Engine
	agent  string
}

type storedRules struct {
	Time time.Time `json:"time"`
	// Text is a robots.txt for any crawler. If Error is not empty, the file could not be retrieved,
	// and Class is the class of that error.
	Text  string     `json:"text,omitempty"`
	Error string     `json:"error,omitempty"`
	Class fetch.Code `json:"class,omitempty"`
	Retry bool       `json:"retry,omitempty"`
}

const failedRulesCacheTime = 20 * time.Second // how long a failure is cached

func (s *sharedRules) key(site string) string {
	sum := sha256.Sum256([]byte(s.agent + "\n" + site))
	return "robots/" + hex.EncodeToString(sum[:12])
}

func (s *sharedRules) rules(ctx context.Context, site string,
	retrieve func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	key := s.key(site)
	var rules *robots.Rules
	var retrieveErr error
	err := WithLock(ctx, s.engine, key, func(ctx context.Context) (known bool, err error) {
		rules, known, err = s.stored(ctx, key)
		if known {
			retrieveErr, err = err, nil
		}
		return known, err
	}, func(ctx context.Context) (err error) {
		rules, retrieveErr, err = s.retrieve(ctx, key, retrieve)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules, retrieveErr
}

func (s *sharedRules) stored(ctx context.Context, key string) (_ *robots.Rules, known bool, err error) {
	data, _, err := s.engine.Records().Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, storeError(err)
	}
	var h storedRules
	if json.Unmarshal(data, &h) != nil {
		return nil, false, nil
	}
	age := time.Since(h.Time)
	switch {
	case h.Error != "" && age < failedRulesCacheTime:
		return nil, true, &fetch.Error{Op: "get", Code: h.Class, Retry: h.Retry, Err: errors.New(h.Error)}
	case h.Error == "" && age < crawl.RulesFresh:
		rules, err := robots.Read(strings.NewReader(h.Text), s.agent)
		return rules, true, err
	}
	return nil, false, nil
}

// retrieve retrieves the rules and stores them for other workers. retrieveErr is the error of the
// retrieval.
func (s *sharedRules) retrieve(ctx context.Context, key string,
	retrieve func(context.Context) (*robots.Rules, error)) (rules *robots.Rules, retrieveErr, err error) {
	rules, retrieveErr = retrieve(ctx)
	if ctx.Err() != nil {
		return nil, nil, fetch.ContextError(ctx)
	}
	if fetch.CodeOf(retrieveErr) == fetch.ErrPolicy {
		return nil, retrieveErr, nil // the policy may apply to this page or worker only
	}
	h := storedRules{Time: time.Now().UTC()}
	if retrieveErr != nil {
		var fetchErr *fetch.Error
		h.Error, h.Class, h.Retry = fetch.Printable(retrieveErr.Error()), fetch.CodeOf(retrieveErr),
			errors.As(retrieveErr, &fetchErr) && fetchErr.Retry ||
				errors.Is(retrieveErr, syscall.ECONNREFUSED)
	} else {
		h.Text = string(rules.Text())
	}
	data, err := json.Marshal(h)
	if err != nil || len(data) > s.engine.Limits().Message {
		return rules, retrieveErr, nil // too long to store
	}
	if err := s.engine.Records().Put(ctx, key, data); err != nil {
		return nil, nil, storeError(err)
	}
	return rules, retrieveErr, nil
}
