package fetch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// untrustedTime limits an exchange of a client with the options of Untrusted.
const untrustedTime = 30 * time.Second

// Untrusted returns options for a service that retrieves URLs of its users, such as a link preview or
// a webhook. The service must not reach its own network for them (server-side request forgery):
//
//   - Policy.Untrusted is set: private, loopback and link-local addresses are refused, also those
//     that a name resolves to, that a redirect leads to, or that an IPv6 address contains.
//   - Only the default port of a scheme and Policy.AllowPorts are allowed, not the ports of databases
//     and consoles.
//   - A body has at most 10 MiB, a request follows at most 5 redirects, and an exchange, with its
//     body, takes at most 30 seconds.
//
// The caller may change the options before it passes them to New, which should load only the
// schemes that the service needs. If it sets DialContext, that connects before the address is
// checked.
func Untrusted() *Options {
	policy := &Policy{Untrusted: true, MaxSize: 10 << 20}
	policy.CheckURL = func(u, _ uri.URI) error {
		if port := u.Normalize().Port(0); port != 0 && !slices.Contains(policy.AllowPorts, port) {
			return fmt.Errorf("port %d is not the default of %s", port, u.Scheme())
		}
		return nil
	}
	return &Options{
		Policy:       policy,
		MaxRedirects: 5,
		Timeouts:     Timeouts{Connect: 10 * time.Second, Reply: 15 * time.Second, Idle: 10 * time.Second},
		Middleware:   []Middleware{within(untrustedTime)},
	}
}

func within(limit time.Duration) Middleware {
	late := ErrNetwork.Errorf("not finished within %v", limit)
	return func(next Driver) Driver {
		return DriverFunc(func(ctx context.Context, req *Request) (*Response, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
			resp, err := next.Open(ctx, req)
			if err != nil {
				cancel()
				return nil, err
			}
			resp.Body = OnClose(resp.Body, cancel)
			return resp, nil
		})
	}
}
