// Package ws opens WebSockets (RFC 6455): sessions that carry messages in both directions.
//
//	ws://host:port/path?query
//	wss://host/path
//
// What Read returns is the messages as they come; a line feed follows those of text. Each Write
// sends one message: as text if it is UTF-8, else as binary. A caller that needs to know where
// messages begin and of which kind they are finds a [fetch.Messenger] in the session.
//
// A session is complete if the server closed it as such, with status 1000 or none. A connection that
// ends without a close frame was cut, and all other statuses are errors.
//
// A server is asked now and then whether it is still there, so that a session without messages does
// not run into the idle timeout, and one with a dead server ends.
package ws

import (
	"context"
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch"
)

// DefaultMaxMessage bounds a message from a server, in bytes.
const DefaultMaxMessage = 16 << 20

// pingInterval is how often a server is asked whether it is still there.
const pingInterval = 30 * time.Second

// Options configures the driver.
type Options struct {
	// MaxMessage bounds a message from a server, in bytes. Zero means DefaultMaxMessage.
	MaxMessage int64
	// Jar keeps cookies, which belong to URLs of http and https. Nil means none.
	Jar http.CookieJar
}

// Load registers the schemes ws and wss with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = DefaultMaxMessage
	}
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := &driver{env: env, opts: opts}
		for _, s := range []fetch.Scheme{
			{Name: "ws", Port: 80, Summary: "messages in both directions, by WebSocket (RFC 6455)"},
			{Name: "wss", Port: 443, Summary: "the same as ws, over TLS"},
		} {
			s.Ops, s.Driver = []fetch.Op{fetch.OpDial}, d
			reg.Register(s)
		}
	}
}

// A driver opens WebSockets.
type driver struct {
	env  *fetch.Env
	opts Options
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
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

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
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

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
