package http_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestStalledUploads checks a server that responds to pings without opening the window, so
// that the connection is not idle. Slow progress and a slow source of the body are not errors.
func TestStalledUploads(t *testing.T) {
	t.Parallel()
	const (
		idle  = 2 * time.Second
		room  = 64<<10 - 1 // initial window of the client
		more  = 16 << 10
		times = 15
	)
	for name, every := range map[string]time.Duration{"no room": 0, "little room": idle / 10, "a slow body": idle / 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, o, _ := frameServer(func(p *peer, stream uint32) bool {
					var tick <-chan time.Time
					if every > 0 {
						ticker := time.NewTicker(every)
						defer ticker.Stop()
						tick = ticker.C
					}
					left := room
					for {
						f, err := p.ReadFrame()
						if err != nil {
							return false
						}
						switch f := f.(type) {
						case *http2.PingFrame:
							if !f.IsAck() && p.WritePing(true, f.Data) != nil {
								return false
							}
						case *http2.DataFrame:
							if f.StreamEnded() {
								return p.header(stream, true, ":status", "204") == nil
							}
							if left -= int(f.Length); left > 0 || tick == nil {
								continue
							}
							<-tick
							if left = more; p.WriteWindowUpdate(0, more) != nil || p.WriteWindowUpdate(stream, more) != nil {
								return false
							}
						}
					}
				})
				n := newMemoryNetwork()
				n.serve(t, server)
				o = n.options(*o)
				o.Timeouts = fetch.Timeouts{Reply: idle, Idle: idle}
				text := strings.Repeat("x", room+times*more)
				req := &fetch.Request{URL: uri.MustParse("https://127.0.0.1/"), Method: "PUT", GetBody: of(text), ContentLength: int64(len(text))}
				if name == "a slow body" {
					req.GetBody, req.Body, req.ContentLength = nil, &slowBody{time.NewTicker(idle * 3 / 2), 1}, -1
				}
				_, _, err := drive.Do(t, newClient(t, o, urlhttp.Options{}), req)
				if every > 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if e := asError(t, err); e.Code != fetch.ErrNetwork || !e.Retry || !strings.Contains(err.Error(), "nothing could be sent for 2s") {
					t.Errorf("%v of class %q", err, e.Code)
				}
			})
		})
	}
}
