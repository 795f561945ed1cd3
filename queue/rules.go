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

// heldRules is the stored robots.txt of a server.
type heldRules struct {
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

// rules is the Share function of a worker's crawl.Robots.
func (s *sharedRules) rules(ctx context.Context, site string, ask func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	key := s.key(site)
	var rules *robots.Rules
	var told error
	err := WithLock(ctx, s.engine, key, func(ctx context.Context) (known bool, err error) {
		rules, known, err = s.remembered(ctx, key)
		if known {
			told, err = err, nil
		}
		return known, err
	}, func(ctx context.Context) (err error) {
		rules, told, err = s.ask(ctx, key, ask)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules, told
}

// remembered returns the rules that another worker stored.
func (s *sharedRules) remembered(ctx context.Context, key string) (_ *robots.Rules, known bool, err error) {
	data, _, err := s.engine.Records().Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, &engineError{err}
	}
	var h heldRules
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

// ask retrieves the rules and stores them for other workers. Told is the error of the retrieval.
func (s *sharedRules) ask(ctx context.Context, key string, ask func(context.Context) (*robots.Rules, error)) (rules *robots.Rules, told, err error) {
	rules, told = ask(ctx)
	if ctx.Err() != nil {
		return nil, nil, fetch.ContextError(ctx)
	}
	if fetch.CodeOf(told) == fetch.ErrPolicy {
		return nil, told, nil // the policy may apply to this page or worker only
	}
	h := heldRules{Time: time.Now().UTC()}
	if told != nil {
		var own *fetch.Error
		h.Error, h.Class, h.Retry = fetch.Printable(told.Error()), fetch.CodeOf(told), errors.As(told, &own) && own.Retry || errors.Is(told, syscall.ECONNREFUSED)
	} else {
		h.Text = string(rules.Text())
	}
	data, err := json.Marshal(h)
	if err != nil || len(data) > s.engine.Limits().Message {
		return rules, told, nil // too long to store
	}
	if err := s.engine.Records().Put(ctx, key, data); err != nil {
		return nil, nil, &engineError{err}
	}
	return rules, told, nil
}
