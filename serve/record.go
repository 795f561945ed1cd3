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
	"github.com/urlget/urlget/fetch/driver"
)

type (
	talkKey struct{}
	atKey   struct{}
)

const (
	maxLines = 200 // of a conversation that are shown
	maxLine  = 400 // bytes of each
)

// A talk is the conversation with the servers on behalf of a page.
type talk struct {
	mu       sync.Mutex
	lines    []talkLine
	more     int       // lines that were left out
	captured time.Time // when it was, if an archive answered
}

// A talkLine is a line of a conversation.
type talkLine struct{ Mark, Text string }

func (t *talk) add(mark, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) >= maxLines {
		t.more++
		return
	}
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	t.lines = append(t.lines, talkLine{mark, fetch.Printable(text)})
}

// last returns the line that was said last.
func (t *talk) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	l := t.lines[len(t.lines)-1]
	return l.Mark + " " + l.Text
}

// Recorder is a fetch.Recorder for the clients of a Server. It keeps the conversations that pages
// show; other requests of the same client it leaves alone.
func Recorder(ctx context.Context, _ *fetch.Request) *fetch.Recording {
	t, ok := ctx.Value(talkKey{}).(*talk)
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

// Archived returns a Middleware for the clients of a Server, which has to be the innermost. It lets
// an archive answer what it has, as it was at the time that the page is for. With only set nothing
// else answers, and nothing is sent.
func Archived(a *replay.Archive, only bool) driver.Middleware {
	return func(next driver.Driver) driver.Driver {
		return driver.DriverFunc(func(ctx context.Context, req *fetch.Request) (*driver.Response, error) {
			at, _ := ctx.Value(atKey{}).(time.Time)
			if when, ok := a.Find(req, at); ok {
				if t, ok := ctx.Value(talkKey{}).(*talk); ok {
					t.mu.Lock()
					t.captured = when
					t.mu.Unlock()
				}
			}
			return a.Middleware(replay.Options{Only: only, At: at})(next).Open(ctx, req)
		})
	}
}
