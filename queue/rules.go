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

// The sharedRules are the robots.txt files that all workers have from one of them. Who has the lease
// of a server asks it; the others wait for what came of it.
type sharedRules struct {
	engine Engine
	agent  string
}

// heldRules are what is remembered of a server.
type heldRules struct {
	Time time.Time `json:"time"`
	// Text is a robots.txt for any crawler. Error, if not "", is why there is none, and Class its
	// class.
	Text  string     `json:"text,omitempty"`
	Error string     `json:"error,omitempty"`
	Class fetch.Code `json:"class,omitempty"`
	Retry bool       `json:"retry,omitempty"`
}

const failedRulesFresh = 20 * time.Second // for which nobody asks again

func (s *sharedRules) key(site string) string {
	sum := sha256.Sum256([]byte(s.agent + "\n" + site))
	return "robots/" + hex.EncodeToString(sum[:12])
}

// rules is the crawl.Robots.Share of a worker.
func (s *sharedRules) rules(ctx context.Context, site string, ask func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	key := s.key(site)
	var rules *robots.Rules
	var told error
	err := Once(ctx, s.engine, key, func(ctx context.Context) (known bool, err error) {
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

// remembered returns what another worker was told.
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
	case h.Error != "" && age < failedRulesFresh:
		return nil, true, &fetch.Error{Op: "get", Code: h.Class, Retry: h.Retry, Err: errors.New(h.Error)}
	case h.Error == "" && age < crawl.RulesFresh:
		rules, err := robots.Read(strings.NewReader(h.Text), s.agent)
		return rules, true, err
	}
	return nil, false, nil
}

// ask asks the server and tells the others. Told is why there are no rules.
func (s *sharedRules) ask(ctx context.Context, key string, ask func(context.Context) (*robots.Rules, error)) (rules *robots.Rules, told, err error) {
	rules, told = ask(ctx)
	if ctx.Err() != nil {
		return nil, nil, fetch.ContextError(ctx)
	}
	if fetch.CodeOf(told) == fetch.ErrPolicy {
		return nil, told, nil // which may hold for this page or this worker alone
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
		return rules, told, nil // too long to be shared
	}
	if err := s.engine.Records().Put(ctx, key, data); err != nil {
		return nil, nil, &engineError{err}
	}
	return rules, told, nil
}
