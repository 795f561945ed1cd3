package http3_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/httpd"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/http3"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	h := fetchtest.Harness{Options: options(),
		Skip: map[string]string{"Noise": "the server has no connection of its own for a stream"}}
	for _, name := range []string{"List", "ListBreak", "ListLimit", "ListNotFound", "ListSecrets", "FileSystem"} {
		h.Skip[name] = "the server has no WebDAV"
	}
	h.Start = func(t testing.TB, tree fs.FS) fetchtest.Site {
		files := httpd.New(tree)
		rawURL := serve(t, udp(t), files)
		t.Cleanup(files.Close)
		return fetchtest.Site{
			Load:    over,
			URL:     func(name string) string { return rawURL + "/" + uri.Escape(name) },
			Log:     files.Log,
			Fault:   files.Fail,
			Escaped: true,
		}
	}
	fetchtest.Run(t, h)
}

// TestBrokenServers checks responses that are malformed, truncated or endless.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	ok := head(":status", "200")
	sized := head(":status", "200", "content-length", "10")
	tests := []struct {
		name   string
		answer [][]byte
		end    func(p *peer, s *quic.Stream) // nil ends the stream normally
		code   fetch.Code
		retry  bool
	}{
		{"no answer", nil, nil, fetch.ErrNetwork, true},
		{"reset without an answer", nil, reset, fetch.ErrNetwork, true},
		{"connection closed without an answer", nil, hangUp, fetch.ErrNetwork, true},
		{"half a head", [][]byte{ok[:3]}, nil, fetch.ErrProtocol, false},
		{"half a varint", [][]byte{{0x40}}, nil, fetch.ErrNetwork, true},
		{"short body", [][]byte{sized, data("abc")}, nil, fetch.ErrTruncated, true},
		{"long body", [][]byte{sized, data("abcdefghijk")}, nil, fetch.ErrProtocol, true},
		{"long body in two frames", [][]byte{sized, data("abcdefghij"), data("k")}, nil, fetch.ErrProtocol, true},
		{"frame cut off", [][]byte{sized, data("abcdef")[:5]}, nil, fetch.ErrTruncated, true},
		{"header of a frame cut off", [][]byte{sized, data("ab"), {0x0}}, nil, fetch.ErrTruncated, true},
		{"trailer cut off", [][]byte{ok, data("ab"), head("x", "y")[:3]}, nil, fetch.ErrTruncated, true},
		{"malformed trailer", [][]byte{ok, data("ab"), frame(0x1, "\xff")}, nil, fetch.ErrTruncated, true},
		{"content before the head", [][]byte{data("abc")}, nil, fetch.ErrProtocol, false},
		{"content behind the trailer", [][]byte{ok, head("x", "y"), data("abc")}, nil, fetch.ErrProtocol, true},
		{"two trailers", [][]byte{ok, head("x", "y"), head("x", "y")}, nil, fetch.ErrProtocol, true},
		{"push", [][]byte{frame(0x5, "\x00")}, nil, fetch.ErrNetwork, true},
		{"frame of HTTP/2", [][]byte{ok, frame(0x8, "\x00")}, nil, fetch.ErrProtocol, true},
		{"settings in mid-body", [][]byte{ok, frame(0x4, "")}, nil, fetch.ErrProtocol, true},
		{"not HTTP/3", [][]byte{[]byte("HTTP/1.1 200 OK\r\n\r\n")}, nil, fetch.ErrNetwork, true},
		{"noise for fields", [][]byte{frame(0x1, "\xff\xff\xff\xff")}, nil, fetch.ErrProtocol, false},
		{"fields of a table that is not there", [][]byte{frame(0x1, "\x02\x00\x80")}, nil, fetch.ErrProtocol, false},
		{"no status", [][]byte{head("x", "y")}, nil, fetch.ErrProtocol, false},
		{"two statuses", [][]byte{head(":status", "200", ":status", "200")}, nil, fetch.ErrProtocol, false},
		{"status behind a field", [][]byte{head("x", "y", ":status", "200")}, nil, fetch.ErrProtocol, false},
		{"status with a sign", [][]byte{head(":status", "+200")}, nil, fetch.ErrProtocol, false},
		{"status is no number", [][]byte{head(":status", "2x0")}, nil, fetch.ErrProtocol, false},
		{"undefined status", [][]byte{head(":status", "700")}, nil, fetch.ErrProtocol, false},
		{"other protocol", [][]byte{head(":status", "101")}, nil, fetch.ErrProtocol, false},
		{"pseudo-field of a request", [][]byte{head(":status", "200", ":path", "/")}, nil, fetch.ErrProtocol, false},
		{"capital letters in a name", [][]byte{head(":status", "200", "X", "y")}, nil, fetch.ErrProtocol, false},
		{"field without a name", [][]byte{head(":status", "200", "", "y")}, nil, fetch.ErrProtocol, false},
		{"line break in a value", [][]byte{head(":status", "200", "x", "y\r\nz: a")}, nil, fetch.ErrProtocol, false},
		{"field of a connection", [][]byte{head(":status", "200", "transfer-encoding", "chunked")}, nil, fetch.ErrProtocol, false},
		{"two lengths", [][]byte{head(":status", "200", "content-length", "1", "content-length", "2")}, nil, fetch.ErrProtocol, false},
		{"negative length", [][]byte{head(":status", "200", "content-length", "-1")}, nil, fetch.ErrProtocol, false},
		{"flood of fields", [][]byte{head(slices.Concat([]string{":status", "200"}, slices.Repeat([]string{"x", strings.Repeat("y", 1000)}, 300))...)}, nil, fetch.ErrProtocol, false},
		{"fields that compress well", [][]byte{frame(0x1, block(":status", "200")+strings.Repeat("\xc1", 100_000))}, nil, fetch.ErrProtocol, false},
		{"flood of informational answers", slices.Repeat([][]byte{head(":status", "103", "link", strings.Repeat("y", 1000))}, 400), nil, fetch.ErrProtocol, false},
		{"flood of unknown frames", slices.Repeat([][]byte{frame(0x21, strings.Repeat("y", 1000))}, 400), nil, fetch.ErrNetwork, true},
		{"announced gigabyte of fields", [][]byte{{0x1, 0x80 | 0x40, 0, 0, 0}, {0x40, 0, 0, 0}}, nil, fetch.ErrProtocol, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
				for _, b := range tt.answer {
					s.Write(b)
				}
				if tt.end != nil {
					tt.end(p, s)
				} else {
					s.Close()
				}
			})
			_, err := drive.Get(t, newClient(t, nil), rawURL)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry || fetch.Printable(e.Error()) != e.Error() {
				t.Errorf("%v, want class %q, retry %v", err, tt.code, tt.retry)
			}
		})
	}
}

func reset(_ *peer, s *quic.Stream) { s.CancelWrite(0x102) }

func reject(_ *peer, s *quic.Stream) {
	s.CancelRead(0x10b)
	s.CancelWrite(0x10b)
}

func hangUp(p *peer, _ *quic.Stream) { p.CloseWithError(0x102, "\x1b[2Jbroken") }

// TestLossInMidBody ends the connection after the head of the response.
func TestLossInMidBody(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fields []string
		end    func(p *peer, s *quic.Stream)
	}{
		"reset":                          {[]string{":status", "200", "content-length", "10"}, reset},
		"reset without a length":         {[]string{":status", "200"}, reset},
		"reset behind the content":       {[]string{":status", "200", "content-length", "3"}, reset},
		"connection closed":              {[]string{":status", "200"}, hangUp},
		"connection closed as if at end": {[]string{":status", "200"}, func(p *peer, _ *quic.Stream) { p.CloseWithError(0x100, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
				s.Write(slices.Concat(head(tt.fields...), data("abc")))
				<-begun
				tt.end(p, s)
			})
			resp, err := newClient(t, nil).Get(t.Context(), rawURL)
			close(begun)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrTruncated || !e.Retry || fetch.Printable(e.Error()) != e.Error() {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestTruncatedWithoutLength ends a stream within a frame, which quic-go reports as complete. The
// framing of the response is therefore unverifiable.
func TestTruncatedWithoutLength(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][][]byte{
		"frame":             {head(":status", "200"), data("abcdef")[:4]},
		"header of a frame": {head(":status", "200"), data("ab"), {0x0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rawURL := frames(t, nil, func(_ *peer, s *quic.Stream) {
				s.Write(slices.Concat(answer...))
				s.Close()
			})
			body, resp, err := drive.Do(t, newClient(t, nil), &fetch.Request{URL: uri.MustParse(rawURL)})
			if err != nil || body != "ab" || resp.Framing != fetch.FramedByClose {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

// TestOddServers checks responses that are unusual but valid.
func TestOddServers(t *testing.T) {
	t.Parallel()
	ok := head(":status", "200")
	for name, answer := range map[string][][]byte{
		"no length":                  {ok, data("ab")},
		"a length":                   {head(":status", "200", "content-length", "2"), data("ab")},
		"the same length twice":      {head(":status", "200", "content-length", "2", "content-length", "2"), data("ab")},
		"empty frames":               {ok, data(""), data("a"), data(""), data("b"), data("")},
		"unknown frames":             {frame(0x21, "x"), ok, frame(0x40, strings.Repeat("y", 9000)), data("ab"), frame(0x21, "")},
		"informational answers":      {head(":status", "103", "link", "x"), head(":status", "100"), ok, data("ab")},
		"a trailer":                  {ok, data("ab"), head("x", "y")},
		"a byte at a time":           split(slices.Concat(ok, data("a"), data("b"))),
		"a length in too many bytes": {ok, {0x40, 0x0, 0x80, 0, 0, 2, 'a', 'b'}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rawURL := frames(t, nil, func(_ *peer, s *quic.Stream) {
				for _, b := range answer {
					s.Write(b)
				}
				s.Close()
			})
			body, resp, err := drive.Do(t, newClient(t, nil), &fetch.Request{URL: uri.MustParse(rawURL)})
			if err != nil || body != "ab" || (resp.Framing == fetch.FramedByClose) != (resp.Size < 0) {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

func split(b []byte) (list [][]byte) {
	for i := range b {
		list = append(list, b[i:i+1])
	}
	return list
}

// TestBrokenConnections checks servers that violate the rules of connections before a response.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	open := func(text string, end bool) func(p *peer) {
		return func(p *peer) {
			if s, err := p.OpenUniStream(); err == nil {
				s.Write([]byte(text))
				if end {
					s.Close()
				}
			}
		}
	}
	settings := string(frame(0x4, ""))
	for name, begin := range map[string]func(p *peer){
		"no settings":         open("\x00"+string(frame(0x7, "\x00")), false),
		"end of control":      open("\x00"+settings, true),
		"settings twice":      open("\x00"+settings+settings, false),
		"endless settings":    open("\x00\x04\x80\x10\x00\x00", false),
		"content for control": open("\x00"+settings+string(data("x")), false),
		"push":                open("\x01\x00", false),
		"two control streams": func(p *peer) { open("\x00"+settings, false)(p); open("\x00"+settings, false)(p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rawURL := frames(t, begin, func(p *peer, s *quic.Stream) {})
			if _, err := drive.Get(t, newClient(t, nil), rawURL); fetch.CodeOf(err) != fetch.ErrNetwork || !strings.Contains(err.Error(), "violated HTTP/3") {
				t.Error(err)
			}
		})
	}
}

// TestUnknownStreams checks that streams of unknown types are ignored.
func TestUnknownStreams(t *testing.T) {
	t.Parallel()
	rawURL := frames(t, func(p *peer) {
		control(p, 0x4, "\x01\x40\x64\x21\x05") // QPACK_MAX_TABLE_CAPACITY and a reserved setting
		for _, kind := range []string{"\x02", "\x03", "\x21 grease"} {
			if s, err := p.OpenUniStream(); err == nil {
				s.Write([]byte(kind))
				s.Close()
			}
		}
	}, func(_ *peer, s *quic.Stream) {
		s.Write(slices.Concat(head(":status", "200"), data("ab")))
		s.Close()
	})
	c := newClient(t, nil)
	for range 3 {
		drive.Gets(t, c, rawURL, "ab")
	}
}

// TestSilence checks a server that becomes silent before or within the response.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]byte{
		"before the answer": nil,
		"in mid-body":       slices.Concat(head(":status", "200"), data("abc")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rawURL := frames(t, nil, func(_ *peer, s *quic.Stream) { s.Write(answer) })
			o := options()
			o.Timeouts = fetch.Timeouts{Idle: 200 * time.Millisecond, Reply: 300 * time.Millisecond}
			_, err := drive.Get(t, newClient(t, o), rawURL)
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry {
				t.Error(err)
			}
		})
	}
}

// TestRejectedRequests checks that rejected requests are sent again on another connection, because the
// server did not process them.
func TestRejectedRequests(t *testing.T) {
	t.Parallel()
	rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
		if p.n == 1 {
			reject(p, s)
			return
		}
		fmt.Fprintf(s, "%s%s", head(":status", "200"), data(fmt.Sprint("connection ", p.n)))
		s.Close()
	})
	drive.Gets(t, newClient(t, nil), rawURL, "connection 2")
}

// TestRejectingServers checks that the number of tries is limited if a server rejects every request.
func TestRejectingServers(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
		requests.Add(1)
		s.CancelWrite(0x10b)
	})
	if _, err := drive.Get(t, newClient(t, nil), rawURL); fetch.CodeOf(err) != fetch.ErrNetwork || requests.Load() != 3 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

// TestVersionFallback checks that a request uses TCP if the server requires it.
func TestVersionFallback(t *testing.T) {
	t.Parallel()
	rawURL := frames(t, nil, func(p *peer, s *quic.Stream) { s.CancelWrite(0x110) })
	tcp(t, strings.TrimPrefix(rawURL, "https://"), hello)
	drive.Gets(t, newClient(t, nil), rawURL, "HTTP/2.0")
}

// TestLostIdleConnections checks that idle connections that were lost are replaced.
func TestLostIdleConnections(t *testing.T) {
	t.Parallel()
	asked := make(map[int]int)
	var mu sync.Mutex
	rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
		mu.Lock()
		asked[p.n]++
		again := asked[p.n] > 1
		mu.Unlock()
		if again {
			p.CloseWithError(0x100, "")
			return
		}
		s.Write(slices.Concat(head(":status", "200"), data("ab")))
		s.Close()
	})
	c := newClient(t, nil)
	for range 4 {
		drive.Gets(t, c, rawURL, "ab")
	}
}

// TestGoAway checks that the next request takes a new connection.
func TestGoAway(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	controls := make(map[int]*quic.SendStream)
	rawURL := frames(t, func(p *peer) {
		s := control(p, 0x4, "")
		mu.Lock()
		defer mu.Unlock()
		controls[p.n] = s
	}, func(p *peer, s *quic.Stream) {
		mu.Lock()
		controls[p.n].Write(frame(0x7, "\x04"))
		mu.Unlock()
		fmt.Fprintf(s, "%s%s", head(":status", "200"), data(fmt.Sprint("connection ", p.n)))
		s.Close()
	})
	c := newClient(t, nil)
	var last string
	for range 100 { // the frame may arrive after the response
		body, err := drive.Get(t, c, rawURL)
		if err != nil {
			t.Fatal(err)
		}
		if last != "" && body != last {
			return
		}
		last = body
	}
	t.Error("all requests on a connection that was to end")
}

// TestGoAwayBeforeResponse sends GOAWAY before the response. Rejected requests are sent again on
// another connection; the others fail.
func TestGoAwayBeforeResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ids  []string                      // stream ids in GOAWAY
		end  func(p *peer, s *quic.Stream) // called after GOAWAY
		want string
	}{
		"this was not seen":                  {ids: []string{"\x00"}, end: reject, want: "connection 2"},
		"this was not seen, as is said late": {ids: []string{"\x08", "\x00"}, end: reject, want: "connection 2"},
		"this was seen":                      {ids: []string{"\x04"}, end: hangUp},
		"the number grows":                   {ids: []string{"\x04", "\x08"}},
		"no number of a request":             {ids: []string{"\x01"}},
		"no number":                          {ids: []string{""}},
		"more than a number":                 {ids: []string{"\x00\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			controls := make(chan *quic.SendStream, 2)
			rawURL := frames(t, func(p *peer) { controls <- control(p, 0x4, "") }, func(p *peer, s *quic.Stream) {
				if p.n == 1 {
					c := <-controls
					for _, id := range tt.ids {
						c.Write(frame(0x7, id))
					}
					if tt.end != nil {
						tt.end(p, s)
					}
					return
				}
				fmt.Fprintf(s, "%s%s", head(":status", "200"), data(fmt.Sprint("connection ", p.n)))
				s.Close()
			})
			req := &fetch.Request{URL: uri.MustParse(rawURL), Method: http.MethodPost, Body: io.NopCloser(strings.NewReader("x")),
				GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }}
			o := options()
			if tt.want == "" {
				o.Timeouts.Reply = 2 * time.Second // quic-go waits for the rest of a number
			}
			resp, err := newClient(t, o).Do(t.Context(), req)
			if tt.want == "" {
				if fetch.CodeOf(err) != fetch.ErrNetwork {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); string(body) != tt.want || err != nil {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

// TestConnectionsAreShared sends many requests over one connection.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := make(map[string]bool)
	rawURL := serve(t, udp(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr] = true
		io.WriteString(w, r.URL.Path)
	}))
	c := newClient(t, nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			drive.Gets(t, c, fmt.Sprint(rawURL, "/", i), fmt.Sprint("/", i))
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 {
		t.Errorf("%d connections", len(from))
	}
}

// TestUploads checks the length of bodies, and that an upload ends with the response.
func TestUploads(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	rawURL := serve(t, udp(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early" {
			io.WriteString(w, "enough")
			return
		}
		body, err := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Method, " ", r.ContentLength, " ", len(body), " ", err)
	}))
	c := newClient(t, nil)
	post := func(path string, body io.ReadCloser, length int64) (string, error) {
		req := &fetch.Request{URL: uri.MustParse(rawURL + path), Op: fetch.OpGet, Body: body, ContentLength: length}
		return drive.Read(c.Do(t.Context(), req))
	}
	text := strings.Repeat("x", 1<<20)
	for _, length := range []int64{1 << 20, -1} {
		if _, err := post("/", io.NopCloser(strings.NewReader(text)), length); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("POST ", length, " 1048576 <nil>"); <-got != want {
			t.Errorf("the server did not get %s", want)
		}
	}
	pipe, w := io.Pipe()
	go io.Copy(w, endless{})
	if body, err := post("/early", pipe, -1); body != "enough" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := post("/", io.NopCloser(strings.NewReader("short")), 10); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("less than was announced: %v", err)
	}
}

// TestUploadsEndWithTheResponse checks this also for a server that neither reads nor refuses the
// rest.
func TestUploadsEndWithTheResponse(t *testing.T) {
	t.Parallel()
	rawURL := frames(t, nil, func(p *peer, s *quic.Stream) {
		fmt.Fprintf(s, "%s%s", head(":status", "200"), data(fmt.Sprint("connection ", p.n)))
		s.Close()
	})
	c := newClient(t, nil)
	for _, want := range []string{"connection 1", "connection 2"} {
		pipe, w := io.Pipe()
		stopped := make(chan error, 1)
		go func() {
			_, err := io.Copy(w, endless{})
			stopped <- err
		}()
		text, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(rawURL), Body: pipe, ContentLength: -1})
		if text != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if err := <-stopped; err != io.ErrClosedPipe {
			t.Errorf("the upload ended with %v", err)
		}
	}
}

// TestStalledUploads checks a server that does not open the window but is not silent.
func TestStalledUploads(t *testing.T) {
	t.Parallel()
	rawURL := frames(t, nil, func(*peer, *quic.Stream) {})
	o := options()
	o.Timeouts = fetch.Timeouts{Idle: 300 * time.Millisecond, Reply: 300 * time.Millisecond}
	pipe, w := io.Pipe()
	go io.Copy(w, endless{})
	_, err := newClient(t, o).Do(t.Context(), &fetch.Request{URL: uri.MustParse(rawURL), Method: http.MethodPut, Body: pipe, ContentLength: -1})
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !strings.Contains(err.Error(), "nothing could be sent") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// hello responds with the protocol of the request.
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })

// TestFallsBackToTCP checks servers that refuse or drop QUIC. Later requests use TCP at once.
func TestFallsBackToTCP(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"refused": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := udp(t)
			addr := socket.LocalAddr().String()
			if !silent {
				socket.Close()
			}
			tcp(t, addr, hello)
			o := options()
			list := protocols(o)
			c := drive.Client(t, o, urlhttp.With(urlhttp.Options{QUIC: http3.Over}))
			var quickest time.Duration
			for i := range 5 { // more than two, for a busy machine
				begin := time.Now()
				if body, err := drive.Get(t, c, "https://"+addr); !strings.HasPrefix(body, "HTTP/") || body == "HTTP/3.0" || err != nil {
					t.Errorf("%q, %v", body, err)
				}
				if took := time.Since(begin); i == 1 || i > 1 && took < quickest {
					quickest = took
				}
			}
			if quickest > 900*time.Millisecond {
				t.Errorf("the requests after the first waited too: %v", quickest)
			}
			if slices.Contains(*list, "h3") {
				t.Error(*list)
			}
		})
	}
}

// TestAltSvc uses the port named over TCP, and TCP when that port fails.
func TestAltSvc(t *testing.T) {
	t.Parallel()
	other := udp(t)
	_, port, _ := net.SplitHostPort(other.LocalAddr().String())
	socket := udp(t)
	addr := socket.LocalAddr().String()
	socket.Close()
	tcp(t, addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":`+port+`"; ma=60`)
		io.WriteString(w, "tcp")
	}))
	serve(t, other, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/clear" {
			w.Header().Set("Alt-Svc", "clear")
		}
		io.WriteString(w, "h3 for "+r.Host)
	}))
	c := newClient(t, nil)
	for _, tt := range []struct{ path, want string }{
		{"/", "tcp"}, {"/", "h3 for " + addr}, {"/clear", "h3 for " + addr}, {"/", "tcp"},
	} {
		drive.Gets(t, c, "https://"+addr+tt.path, tt.want)
	}
}

// TestTLSVerification checks that servers without a valid certificate are refused as over TCP.
func TestTLSVerification(t *testing.T) {
	t.Parallel()
	rawURL := serve(t, udp(t), hello)
	_, trusting := servers.Certificate()
	pinned := trusting.Clone()
	pinned.VerifyConnection = func(tls.ConnectionState) error { return errors.New("another key") }
	for name, tt := range map[string]struct {
		cfg *tls.Config
		ok  bool
	}{
		"trusted":           {trusting, true},
		"not checked":       {&tls.Config{InsecureSkipVerify: true}, true},
		"unknown authority": {nil, false},
		"another host":      {&tls.Config{RootCAs: trusting.RootCAs, ServerName: "other.example"}, false},
		"another key":       {pinned, false},
	} {
		if body, err := drive.Get(t, newClient(t, &fetch.Options{TLS: tt.cfg}), rawURL); tt.ok && (err != nil || body != "HTTP/3.0") || !tt.ok && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}

// TestPolicy checks that no QUIC packet is sent to a forbidden address.
func TestPolicy(t *testing.T) {
	t.Parallel()
	socket := udp(t)
	var mu sync.Mutex
	var checked []string
	o := options()
	o.Policy = &fetch.Policy{CheckAddr: func(_ uri.URI, addr netip.AddrPort) error {
		mu.Lock()
		defer mu.Unlock()
		checked = append(checked, addr.String())
		return errors.New("not there")
	}}
	_, err := drive.Get(t, newClient(t, o), "https://"+socket.LocalAddr().String())
	if fetch.CodeOf(err) != fetch.ErrPolicy || len(checked) == 0 || checked[0] != socket.LocalAddr().String() {
		t.Errorf("%v after %v", err, checked)
	}
	socket.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := socket.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server got %d bytes, %v", n, err)
	}
}

// TestProxies checks that HTTP/3 does not bypass proxies.
func TestProxies(t *testing.T) {
	t.Parallel()
	socket := udp(t)
	o := options()
	o.Proxy = func(uri.URI) (uri.URI, error) { return uri.MustParse("http://127.0.0.1:1"), nil }
	if _, err := drive.Get(t, newClient(t, o), "https://"+socket.LocalAddr().String()); fetch.CodeOf(err) != fetch.ErrNetwork || !strings.Contains(err.Error(), "proxy") {
		t.Error(err)
	}
	socket.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := socket.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server got %d bytes, %v", n, err)
	}
}

// TestProtocolIsRecorded checks the protocol in responses and records.
func TestProtocolIsRecorded(t *testing.T) {
	t.Parallel()
	rawURL := serve(t, udp(t), hello)
	var mu sync.Mutex
	var sent, received, lines strings.Builder
	o := options()
	protocolsSeen := protocols(o)
	o.Recorder = fetch.JoinRecorders(o.Recorder, fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		return &fetch.Recording{
			Sent:     func(_ int, p []byte) { mu.Lock(); defer mu.Unlock(); sent.Write(p) },
			Received: func(_ int, p []byte) { mu.Lock(); defer mu.Unlock(); received.Write(p) },
			Line:     func(_ bool, line string) { mu.Lock(); defer mu.Unlock(); fmt.Fprintln(&lines, line) },
		}
	}))
	drive.Gets(t, newClient(t, o), rawURL+"/x", "HTTP/3.0")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(*protocolsSeen, []string{"h3"}) {
		t.Error(*protocolsSeen)
	}
	if s := sent.String(); !strings.HasPrefix(s, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:") {
		t.Errorf("sent %q", s)
	}
	if s := received.String(); !strings.HasPrefix(s, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(s, "\r\n\r\nHTTP/3.0") {
		t.Errorf("received %q", s)
	}
	if s := lines.String(); !strings.Contains(s, ":method: GET\n") || !strings.Contains(s, "HTTP/3.0 200 OK\n") {
		t.Errorf("lines:\n%s", s)
	}
}
