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

// An operations value ends operations to which there will be no response. The server does not respond to
// a denied request: it sends an error that names only the subject. It does not respond either to requests
// of a connection that has ended, though the client connects again.
type operations struct {
	mu      sync.Mutex
	waiting map[*operation]bool
}

type operation struct {
	names  []string // subjects or names of streams, part of the subjects that the operation uses
	cancel context.CancelCauseFunc
}

// errLost is the error of operations whose response was lost with the connection. The server may have
// done what they asked for.
var errLost = &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
	Err: errors.New("the connection to the NATS server ended before its response")}

// guard calls do with a context that ends if the server denies an operation on one of the names, or if
// the connection ends. Then it returns the error of the server, or errLost.
func (o *operations) guard(ctx context.Context, do func(context.Context) error, names ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	op := &operation{names, cancel}
	o.mu.Lock()
	if o.waiting == nil {
		o.waiting = map[*operation]bool{}
	}
	o.waiting[op] = true
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.waiting, op)
	}()
	err := do(ctx)
	if why := context.Cause(ctx); err != nil && isReported(why) {
		return why
	}
	return err
}

// isReported reports whether the cause is what deny or lose said.
func isReported(cause error) bool {
	return errors.Is(cause, nats.ErrPermissionViolation) || errors.Is(cause, errLost)
}

// lose ends all operations.
func (o *operations) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for op := range o.waiting {
		op.cancel(errLost)
	}
}

// deny ends the operations that an error of the server is about.
func (o *operations) deny(err error) {
	text := err.Error()
	if strings.Contains(text, ".CONSUMER.LEADER.STEPDOWN.") {
		return // no operation waits for that
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for op := range o.waiting {
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
