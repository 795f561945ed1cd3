package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/urlget/urlget/fetch"
)

// A denials value ends operations that the server denies. The server does not respond to a denied
// request: it sends an error that names only the subject.
type denials struct {
	mu      sync.Mutex
	waiting map[*operation]bool
}

type operation struct {
	names  []string // subjects or names of streams, part of the subjects that the operation uses
	cancel context.CancelCauseFunc
}

// guard calls do with a context that ends if the server denies an operation on one of the names.
// Then it returns the error of the server.
func (d *denials) guard(ctx context.Context, do func(context.Context) error, names ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	op := &operation{names, cancel}
	d.mu.Lock()
	if d.waiting == nil {
		d.waiting = map[*operation]bool{}
	}
	d.waiting[op] = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, op)
	}()
	err := do(ctx)
	if why := context.Cause(ctx); err != nil && errors.Is(why, nats.ErrPermissionViolation) {
		return why
	}
	return err
}

func (d *denials) report(err error) {
	text := err.Error()
	if strings.Contains(text, ".CONSUMER.LEADER.STEPDOWN.") {
		return // no operation waits for that
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for op := range d.waiting {
		for _, name := range op.names {
			if strings.Contains(text, name) {
				op.cancel(err)
			}
		}
	}
}

var deniedSubject = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)

func deniedError(o *Options, err error) error {
	text := fmt.Sprintf("the credentials do not permit using the queue: %v", err)
	if m := deniedSubject.FindStringSubmatch(err.Error()); m != nil {
		verb := "publish to"
		if strings.EqualFold(m[1], "subscription") {
			verb = "subscribe to"
		}
		text = fmt.Sprintf("the credentials do not permit this: NATS denies to %s %s", verb, m[2])
	}
	return &fetch.Error{Code: fetch.ErrRefused, Err: fmt.Errorf("%s: %s", o.servers(), text)}
}

// inboxPrefix returns the prefix of the subjects on which the client receives responses, so that a
// server can keep users from receiving those of others: _INBOX.NAME. It is _INBOX without a name.
// The name is the public key of an NKey, or the user in the URL.
func (o *Options) inboxPrefix(nkey string) string {
	name := nkey
	for text := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.User == nil || name != "" {
			continue
		}
		if _, login := u.User.Password(); login { // otherwise it is a token
			name = u.User.Username()
		}
	}
	if name == "" || strings.Trim(name, nameCharacters) != "" {
		return "_INBOX"
	}
	return "_INBOX." + name
}
