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
	// Replies maps queries, without their line ends, to responses.
	Replies map[string]string
	// Reply returns the response to a query that is not in Replies. Nil means that nothing
	// matches.
	Reply func(query string) string
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
			c.Send([]byte(opts.reply(query)))
		}
	})
}

func (o *Options) reply(query string) string {
	text, ok := o.Replies[query]
	switch {
	case ok:
		return text
	case o.Reply != nil:
		return o.Reply(query)
	}
	return fmt.Sprintf("No match for %q.\r\n", query)
}
