package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/crawl"
	"github.com/urlget/urlget/fetch/robots"
)

// The sharedRules are the robots.txt files that all workers have from one of them. Who has the lease
// of a server asks it; the others wait for what came of it.
type sharedRules struct {
	engine Engine
	agent  string
	ttl    time.Duration // of leases
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

const (
	failedRulesFresh = 20 * time.Second // for which nobody asks again
	rulesPoll        = 250 * time.Millisecond
)

func (s *sharedRules) key(site string) string {
	sum := sha256.Sum256([]byte(s.agent + "\n" + site))
	return "robots/" + hex.EncodeToString(sum[:12])
}

// rules is the crawl.Robots.Share of a worker.
func (s *sharedRules) rules(ctx context.Context, site string, ask func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	key := s.key(site)
	for {
		rules, known, err := s.remembered(ctx, key)
		if known || err != nil {
			return rules, err
		}
		mine := []byte(rand.Text())
		revision, err := s.engine.Leases().Create(ctx, key, mine)
		if err == nil {
			rules, known, err := s.remembered(ctx, key) // meanwhile
			if !known && err == nil {
				rules, err = s.ask(ctx, key, mine, revision, ask)
			}
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), operation)
			defer cancel()
			s.engine.Leases().Delete(short, key, 0) // or it ends by itself
			return rules, err
		}
		if !errors.Is(err, ErrExists) {
			return nil, &engineError{err}
		}
		if err := sleep(ctx, rulesPoll); err != nil {
			return nil, err
		}
	}
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
		return rules, err == nil, err
	}
	return nil, false, nil
}

// ask asks the server and tells the others, while the lease is kept.
func (s *sharedRules) ask(ctx context.Context, key string, mine []byte, revision uint64, ask func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		for sleep(keeping, s.ttl/4) == nil {
			if now, err := s.engine.Leases().Update(keeping, key, mine, revision); err == nil {
				revision = now
			} // else the worst is that another one asks too
		}
	}()
	rules, err := ask(ctx)
	stop()
	<-kept
	if ctx.Err() != nil {
		return nil, fetch.ContextError(ctx)
	}
	h := heldRules{Time: time.Now().UTC()}
	if err != nil {
		var own *fetch.Error
		h.Error, h.Class, h.Retry = fetch.Printable(err.Error()), fetch.CodeOf(err), errors.As(err, &own) && own.Retry
	} else {
		h.Text = string(rules.Text())
	}
	data, jerr := json.Marshal(h)
	if jerr != nil || len(data) > s.engine.Limits().Message {
		return rules, err // too long to be shared
	}
	if perr := s.engine.Records().Put(ctx, key, data); perr != nil {
		return nil, &engineError{perr}
	}
	return rules, err
}
