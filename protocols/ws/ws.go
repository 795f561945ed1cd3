// Package ws opens WebSockets (RFC 6455): sessions that carry messages in both directions.
//
//	ws://host:port/path?query
//	wss://host/path
//
// What Read returns is the messages as they come; a line feed follows those of text. Each Write
// sends one message: as text if it is UTF-8, else as binary. A caller that needs to know where
// messages begin and of which kind they are finds a [driver.Messenger] in the session.
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

	"github.com/urlget/urlget/fetch/driver"
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
func Load(env driver.Env, reg *driver.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) driver.Loader {
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = DefaultMaxMessage
	}
	return func(env driver.Env, reg *driver.Registry) {
		d := &opener{env: env, opts: opts}
		for _, s := range []driver.Scheme{
			{Name: "ws", Port: 80, Summary: "messages in both directions, by WebSocket (RFC 6455)"},
			{Name: "wss", Port: 443, Summary: "the same as ws, over TLS"},
		} {
			s.Ops, s.Driver = []driver.Op{driver.OpDial}, d
			reg.Register(s)
		}
	}
}

// An opener opens WebSockets.
type opener struct {
	env  driver.Env
	opts Options
}

// Open implements driver.Driver.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
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

// Explain implements driver.Explainer.
func (d *opener) Explain(req *driver.Request) ([]string, error) {
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
	_ driver.Driver    = (*opener)(nil)
	_ driver.Explainer = (*opener)(nil)
)
