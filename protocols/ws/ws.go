// Package ws opens WebSockets (RFC 6455): sessions that carry messages in both directions.
//
//	ws://host:port/path?query
//	wss://host/path
//
// Read returns the messages as they arrive, with a line feed after each text message. Each Write
// sends one message: as text if it is UTF-8, else as binary. Callers that need message boundaries
// and types use the [fetch.Messenger] that the session implements.
//
// A session is complete if the server closes it with status 1000 or none. A connection that ends
// without a close frame is truncated, and all other statuses are errors.
//
// Servers are pinged regularly. A session without messages therefore does not run into the idle
// timeout, and one with a dead server ends.
package ws

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const maxMessage = 16 << 20 // in bytes

// pingInterval is the longest time between pings.
const pingInterval = 30 * time.Second

// Options configure the driver.
type Options struct {
	// MaxMessage limits a message from a server, in bytes. Zero means 16 MiB.
	MaxMessage int64
	// Jar stores the cookies of the corresponding http and https URLs. Nil means no cookies.
	Jar http.CookieJar
	// HTTPSOnly, if not nil, reports whether a host wants https only (RFC 6797). Its ws URLs are requested
	// as wss URLs.
	HTTPSOnly func(host string) bool
}

// Load registers the schemes ws and wss with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the schemes with options.
func With(opts Options) fetch.Loader {
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = maxMessage
	}
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		for _, s := range []fetch.Scheme{
			{Name: "ws", Port: 80, Summary: "messages in both directions over WebSocket (RFC 6455)"},
			{Name: "wss", Port: 443, Summary: "the same as ws, over TLS"},
		} {
			s.Ops, s.Driver = []fetch.Op{fetch.OpDial}, d
			reg.Register(s)
		}
	}
}

type opener struct {
	env  fetch.Env
	opts Options
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	h, err := d.newHandshake(req)
	if err != nil {
		return nil, err
	}
	for {
		resp, err := d.try(ctx, h)
		if resp != nil || err != nil {
			return resp, err
		}
	}
}

// Upgrade implements fetch.Upgrader, as for http URLs (RFC 6797, section 8.3).
func (d *opener) Upgrade(u uri.URI) (uri.URI, bool) {
	if d.opts.HTTPSOnly == nil || u.Scheme() != "ws" || !d.opts.HTTPSOnly(u.Host()) {
		return u, false
	}
	_, rest, _ := strings.Cut(u.WithoutPort(80).String(), ":")
	upgraded, err := uri.Parse("wss:" + rest)
	return upgraded, err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	h, err := d.newHandshake(req)
	if err != nil {
		return nil, err
	}
	lines := []string{"GET " + h.url.RequestURI() + " HTTP/1.1", "Host: " + h.host, "Upgrade: websocket"}
	for _, name := range []string{"Origin", protocolField} {
		if v := h.header.Get(name); v != "" {
			lines = append(lines, name+": "+v)
		}
	}
	return append(lines, "exchange messages"), nil
}
