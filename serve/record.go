package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
)

type (
	conversationKey struct{}
	captureKey      struct{}
)

// A capture is what a page wants of the archive: the capture nearest to a time, or none.
type capture struct {
	at   time.Time // zero for the latest
	live bool
	only bool // never from the network
}

const (
	maxLines = 200 // of a conversation on a page
	maxLine  = 400 // bytes of each line
)

// A conversation is the exchange of lines with servers for one page.
type conversation struct {
	mu       sync.Mutex
	lines    []conversationLine
	more     int                  // number of lines beyond maxLines
	captured time.Time            // capture time, if the archive was replayed
	secured  *tls.ConnectionState // of the latest connection; nil without TLS
}

type conversationLine struct{ Mark, Text string }

func (t *conversation) add(mark, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) >= maxLines {
		t.more++
		return
	}
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	t.lines = append(t.lines, conversationLine{mark, fetch.Printable(text)})
}

func (t *conversation) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	l := t.lines[len(t.lines)-1]
	return l.Mark + " " + l.Text
}

// Recorder returns a fetch.Recorder for the clients of a Server. It records the conversations for
// pages and ignores other requests of the client.
func Recorder() fetch.Recorder { return fetch.RecorderFunc(record) }

func record(ctx context.Context, _ *fetch.Request) *fetch.Recording {
	t, ok := ctx.Value(conversationKey{}).(*conversation)
	if !ok {
		return nil
	}
	return &fetch.Recording{
		Peer: func(conn int, addr net.Addr, state *tls.ConnectionState) {
			text := addr.Network() + " " + addr.String()
			if state != nil {
				text += ", " + tls.VersionName(state.Version) + ", " + tls.CipherSuiteName(state.CipherSuite)
			}
			t.add("=", fmt.Sprintf("connection %d: %s", conn, text))
			t.mu.Lock()
			t.secured = state
			t.mu.Unlock()
		},
		Line: func(sent bool, line string) {
			mark := "<"
			if sent {
				mark = ">"
			}
			t.add(mark, line)
		},
	}
}

// Date returns the date of the capture that a request of a Server is for, or zero for the latest one or
// the current version.
func Date(ctx context.Context) time.Time {
	want, _ := ctx.Value(captureKey{}).(capture)
	if want.live {
		return time.Time{}
	}
	return want.at
}

// Archived returns a Middleware for the clients of a Server, which must be the innermost one. It
// replays responses from the archive with opts, as of the capture time that the page is for and decoded.
func Archived(a *replay.Archive, opts replay.Options) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			want, _ := ctx.Value(captureKey{}).(capture)
			if want.live && !opts.Only {
				return next.Open(ctx, req)
			}
			req, err := a.WithBody(req)
			if err != nil {
				return nil, err
			}
			opts, at := opts, want.at
			if when, ok := a.Find(req, at); ok {
				if t, ok := ctx.Value(conversationKey{}).(*conversation); ok {
					t.mu.Lock()
					t.captured = when
					t.mu.Unlock()
				}
			}
			opts.Only, opts.At, opts.Compressed = opts.Only || want.only, at, true
			return a.Middleware(opts)(next).Open(ctx, req)
		})
	}
}
