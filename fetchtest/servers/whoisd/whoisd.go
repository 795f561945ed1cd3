// Package whoisd is a whois server (RFC 3912) for tests, which fails on request.
package whoisd

import (
	"fmt"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server knows.
type Options struct {
	// Answers are the answers by query, which is what the client sends, without its line end.
	Answers map[string]string
	// Answer answers the queries that Answers does not hold. Nil means that nothing matches.
	Answer func(query string) string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// A Server is a running whois server. All that it answers is content, for faults.
type Server struct {
	*servers.Server
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "whois", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	base, err := servers.New(cfg, func(c *servers.Conn) {
		if query, err := c.ReadLine(); err == nil {
			c.Send([]byte(opts.answer(query)))
		}
	})
	if err != nil {
		return nil, err
	}
	return &Server{base}, nil
}

func (o *Options) answer(query string) string {
	text, ok := o.Answers[query]
	switch {
	case ok:
		return text
	case o.Answer != nil:
		return o.Answer(query)
	}
	return fmt.Sprintf("No match for %q.\r\n", query)
}
