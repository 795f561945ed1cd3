// Package queryd is a finger (RFC 1288) or whois (RFC 3912) server for tests. It fails on request.
package queryd

import (
	"fmt"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	// Scheme is the scheme of the server's URL, "finger" or "whois". The protocols do not differ
	// otherwise.
	Scheme string
	// Answers maps queries, without their line ends, to responses.
	Answers map[string]string
	// Answer returns the response to a query that is not in Answers. Nil means that nothing
	// matches.
	Answer func(query string) string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to every response.
func New(opts Options) (*servers.Server, error) {
	cfg := servers.Config{Scheme: opts.Scheme, Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	return servers.New(cfg, func(c *servers.Conn) {
		if query, err := c.ReadLine(); err == nil {
			c.Send([]byte(opts.respond(query)))
		}
	})
}

func (o *Options) respond(query string) string {
	text, ok := o.Answers[query]
	switch {
	case ok:
		return text
	case o.Answer != nil:
		return o.Answer(query)
	}
	return fmt.Sprintf("No match for %q.\r\n", query)
}
