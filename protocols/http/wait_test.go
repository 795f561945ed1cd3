package http_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// drip writes pieces repeatedly until the connection ends.
func drip(w io.Writer, every time.Duration, pieces ...string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		for _, p := range pieces {
			<-tick.C
			if _, err := io.WriteString(w, p); err != nil {
				return
			}
		}
	}
}

// TestWaitsEnd checks servers that are never silent and never finish. Each wait must end after a small
// multiple of the limit.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	const (
		limit = 300 * time.Millisecond
		step  = 20 * time.Millisecond
		ok    = "HTTP/1.1 200 OK\r\n"
		coded = "Transfer-Encoding: chunked\r\n\r\n"
	)
	plain := map[string]struct {
		begin  string
		pieces []string
	}{
		"status line, byte by byte":        {"HTTP/1.1 200 ", []string{"O"}},
		"field, byte by byte":              {ok + "X: ", []string{"y"}},
		"fields without end":               {ok, []string{"X: y\r\n"}},
		"informational answers":            {"", []string{"HTTP/1.1 103 Early Hints\r\nLink: y\r\n\r\n"}},
		"continue":                         {"", []string{"HTTP/1.1 100 Continue\r\n\r\n"}},
		"blank lines":                      {"", []string{"\r\n"}},
		"size of a chunk":                  {ok + coded, []string{"0"}},
		"extension of a chunk":             {ok + coded + "5;", []string{"x"}},
		"trailer, byte by byte":            {ok + coded + "0\r\nX: ", []string{"y"}},
		"trailer without end":              {ok + coded + "0\r\n", []string{"X: y\r\n"}},
		"a redirect with an endless body":  {"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", []string{"x"}},
		"a refusal with an endless body":   {"HTTP/1.1 404 Not Found\r\n\r\n", []string{"x"}},
		"a challenge with an endless body": {"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\n\r\n", []string{"x"}},
		"no content, and more":             {"HTTP/1.1 204 No Content\r\n\r\n", []string{"x"}},
	}
	framed := map[string]func(p *peer, stream uint32) bool{
		"pings": func(p *peer, _ uint32) bool {
			for every := time.NewTicker(step); ; <-every.C {
				if p.WritePing(false, [8]byte{}) != nil {
					return false
				}
			}
		},
		"settings": func(p *peer, _ uint32) bool {
			for every := time.NewTicker(step); ; <-every.C {
				if p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9}) != nil {
					return false
				}
			}
		},
		"flow control": func(p *peer, stream uint32) bool {
			for every := time.NewTicker(step); ; <-every.C {
				if p.WriteWindowUpdate(0, 1) != nil || p.WriteWindowUpdate(stream, 1) != nil {
					return false
				}
			}
		},
		"informational answers": func(p *peer, stream uint32) bool {
			for every := time.NewTicker(step); ; <-every.C {
				if p.header(stream, false, ":status", "103", "link", "y") != nil {
					return false
				}
			}
		},
		"a field, frame by frame": func(p *peer, stream uint32) bool {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(":status", "200")})
			for every := time.NewTicker(step); ; <-every.C {
				if p.WriteContinuation(stream, false, block("x", "y")) != nil {
					return false
				}
			}
		},
		"empty pieces of a body": func(p *peer, stream uint32) bool {
			p.header(stream, false, ":status", "200")
			for every := time.NewTicker(step); ; <-every.C {
				if p.WriteData(stream, false, nil) != nil {
					return false
				}
			}
		},
		"padding": func(p *peer, stream uint32) bool {
			p.header(stream, false, ":status", "200")
			for every := time.NewTicker(step); ; <-every.C {
				if p.WriteDataPadded(stream, false, nil, make([]byte, 100)) != nil {
					return false
				}
			}
		},
		"streams that are refused": func(p *peer, stream uint32) bool {
			return p.WriteRSTStream(stream, http2.ErrCodeRefusedStream) == nil
		},
		"farewells": func(p *peer, _ uint32) bool {
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			return false
		},
		"farewells that hold": func(p *peer, _ uint32) bool {
			return p.WriteGoAway(0, http2.ErrCodeNo, nil) == nil
		},
	}
	check := func(t *testing.T, rawURL string, o *fetch.Options) {
		o.MaxRedirects = 1
		if !strings.Contains(t.Name(), "no_content") { // which succeeds
			o.Timeouts = fetch.Timeouts{Connect: 20 * time.Second, Reply: limit, Idle: limit}
		}
		c := newClient(t, o, urlhttp.Options{})
		begin := time.Now()
		_, err := drive.Get(t, c, rawURL)
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		if strings.Contains(t.Name(), "no_content") {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if e := asError(t, err); e.Code == "" || fetch.Printable(e.Error()) != e.Error() {
			t.Errorf("%v of class %q", err, e.Code)
		}
	}
	for name, tt := range plain {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, respondWith(t, func(conn net.Conn) {
				io.WriteString(conn, tt.begin)
				drip(conn, step, tt.pieces...)
			}), &fetch.Options{})
		})
	}
	for name, serve := range framed {
		t.Run("h2, "+name, func(t *testing.T) {
			t.Parallel()
			rawURL, o, _ := frames(t, serve)
			check(t, rawURL, o)
		})
	}
}

// TestSlowProgress reads a body that arrives slowly but steadily.
func TestSlowProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newMemoryNetwork()
		n.serve(t, func(conn net.Conn) {
			if !readRequest(conn) {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n")
			for range 25 {
				time.Sleep(time.Second)
				io.WriteString(conn, "x")
			}
		})
		c := newClient(t, n.options(fetch.Options{Timeouts: fetch.Timeouts{Reply: 2 * time.Second, Idle: 2 * time.Second}}), urlhttp.Options{})
		drive.Gets(t, c, "http://127.0.0.1/", strings.Repeat("x", 25))
	})
}

// TestClosingServers counts the connections that a client opens to a server that closes each.
func TestClosingServers(t *testing.T) {
	t.Parallel()
	rawURL, o, conns := frames(t, func(p *peer, _ uint32) bool {
		p.WriteGoAway(0, http2.ErrCodeNo, nil)
		return false
	})
	_, err := drive.Get(t, newClient(t, o, urlhttp.Options{}), rawURL)
	if e := asError(t, err); e.Code != fetch.ErrNetwork || !e.Retry {
		t.Errorf("%v (retry %v), want ErrNetwork", err, e.Retry)
	}
	if n := conns.Load(); n > 4 {
		t.Errorf("%d connections for one request", n)
	}

	// A regular GOAWAY is not an error.
	rawURL, o, _ = frames(t, func(p *peer, stream uint32) bool {
		if p.n == 1 {
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			return false
		}
		p.header(stream, false, ":status", "200")
		p.WriteData(stream, true, []byte("here"))
		return true
	})
	drive.Gets(t, newClient(t, o, urlhttp.Options{}), rawURL, "here") // after one GOAWAY
}
