package http

import (
	"context"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

// A claim is a login for a protection space (RFC 9110, section 11.5).
type claim struct {
	origin         uri.Origin
	foreign        bool   // from the author of a URL, who must not learn what the user has tried
	realm          string // "" if sent before a challenge
	user, password string
}

// verdicts remembers which logins servers have accepted or refused, so that a wrong password is sent
// once, however many URLs need it: servers lock accounts after a few failures.
type verdicts struct {
	mu       sync.Mutex
	accepted map[claim]bool // false: refused
	trials   map[claim]chan struct{}
}

const maxVerdicts = 1024

// try reports whether c was refused. Otherwise it may be sent. If that was never done, others that call
// try wait until end is called.
func (v *verdicts) try(ctx context.Context, c claim) (refused bool, end func(), err error) {
	for {
		v.mu.Lock()
		accepted, known := v.accepted[c]
		other := v.trials[c]
		if !known && other == nil {
			defer v.mu.Unlock()
			if v.trials == nil {
				v.trials = make(map[claim]chan struct{})
			}
			done := make(chan struct{})
			v.trials[c] = done
			return false, func() {
				v.mu.Lock()
				defer v.mu.Unlock()
				delete(v.trials, c)
				close(done)
			}, nil
		}
		v.mu.Unlock()
		if known {
			return !accepted, func() {}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return false, nil, context.Cause(ctx)
		}
	}
}

// record stores a verdict. A login that was accepted once stays so: servers also send 401 to users
// without a right to one resource of the realm.
func (v *verdicts) record(c claim, accepted bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.accepted == nil {
		v.accepted = make(map[claim]bool)
	}
	if _, known := v.accepted[c]; !known && len(v.accepted) >= maxVerdicts {
		for any := range v.accepted {
			delete(v.accepted, any)
			break
		}
	}
	v.accepted[c] = accepted || v.accepted[c]
}
