package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestBodyCache(t *testing.T) {
	t.Parallel()
	var k bodyCache
	u := uri.MustParse("http://h.example/")
	first := k.add(u, "", fetch.Meta{}, make([]byte, maxCachedBody))
	if c := k.get(first); c == nil || len(c.data) != maxCachedBody {
		t.Fatal("it was not kept")
	}
	for range maxCacheSize / maxCachedBody {
		k.add(u, "", fetch.Meta{}, make([]byte, maxCachedBody))
	}
	if k.get(first) != nil || k.size > maxCacheSize {
		t.Errorf("%d bytes are kept", k.size)
	}
	if k.get("") != nil {
		t.Error("something has no name")
	}
}

func TestConversationsAreBounded(t *testing.T) {
	t.Parallel()
	conversation := &conversation{}
	x := record(context.WithValue(context.Background(), conversationKey{}, conversation), nil)
	for range maxLines + 5 {
		x.Line(true, strings.Repeat("x", 2*maxLine))
	}
	if len(conversation.lines) != maxLines || conversation.more != 5 || len(conversation.lines[0].Text) > maxLine+3 {
		t.Errorf("%d lines of %d bytes, and %d", len(conversation.lines), len(conversation.lines[0].Text), conversation.more)
	}
	if record(context.Background(), nil) != nil {
		t.Error("what is for no page is recorded")
	}
}

func TestRetrievalsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		for range maxBurst + int(maxWait.Seconds())*maxRate {
			done, err := s.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		var waiting atomic.Int32
		for range 2 * maxRate * int(maxWait.Seconds()) { // all at the same time
			go func() {
				if _, err := s.acquire(t.Context()); fetch.CodeOf(err) == fetch.ErrBusy {
					waiting.Add(1)
				}
			}()
		}
		synctest.Wait()
		if waiting.Load() == 0 {
			t.Error("all of them were let in")
		}
	})
}

func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var end func()
		for range maxActive {
			done, err := s.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end = done
		}
		begin := time.Now()
		if _, err := s.acquire(t.Context()); fetch.CodeOf(err) != fetch.ErrBusy || time.Since(begin) != maxWait {
			t.Errorf("one more waits for %v: %v", time.Since(begin), err)
		}
		time.AfterFunc(maxWait/2, end)
		if _, err := s.acquire(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := New(Options{Hosts: []string{"h:1"}})
	r := httptest.NewRequest(http.MethodPost, "http://h:1/form", strings.NewReader("--x\r\nContent-Disposition: form-data; name=a0\r\n\r\n"+
		strings.Repeat("x", 2*maxFormSize)+"\r\n--x--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	r.Header.Set("Origin", "http://h:1")
	r.AddCookie(&http.Cookie{Name: "urlget-1", Value: s.Token})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestLoginsStayWithTheirUsers(t *testing.T) {
	t.Parallel()
	var l logins
	if got := l.take(uri.MustParse("ftp://alice:secret@h.example/x")).String(); got != "ftp://alice@h.example/x" {
		t.Errorf("what is left is %s", got)
	}
	for in, want := range map[string]string{
		"ftp://h.example/y":       "ftp://alice:secret@h.example/y",
		"ftp://alice@h.example/y": "ftp://alice:secret@h.example/y",
		"ftp://bob@h.example/y":   "ftp://bob@h.example/y",
		"ftp://other.example/y":   "ftp://other.example/y",
		"http://h.example/y":      "http://h.example/y",
	} {
		if got := l.with(uri.MustParse(in)).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestTickets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all tickets[address]
		a := address{url: uri.MustParse("telnet://h.example/")}
		first := all.add(a)
		for range maxTickets {
			all.add(a)
		}
		if _, ok := all.take(first); ok || len(all.list) != maxTickets {
			t.Errorf("%d sessions are about to begin", len(all.list))
		}
		late := all.add(a)
		if got, ok := all.take(all.add(a)); !ok || got.url != a.url {
			t.Errorf("a ticket is for %v", got)
		}
		time.Sleep(ticketLife)
		if _, ok := all.take(late); ok {
			t.Error("an old ticket is good")
		}
	})
}

// TestSilentSessionsEnd checks the timeouts for a page that does not send its screen size and for an
// idle session.
func TestSilentSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := fetch.New(&fetch.Options{Timeouts: fetch.Timeouts{Idle: -1}}, func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "telnet", Port: 23, Ops: []fetch.Op{fetch.OpDial},
				Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{URL: req.URL, Body: ours, Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}}, nil
				})})
		})
		defer c.Close()
		s := New(Options{Client: c, Sessions: c})
		for _, says := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			term := &terminal{page: discardPage{}, input: make(chan []byte), orders: make(chan order, 1), cancel: cancel}
			want := maxPageDelay
			if says {
				term.orders <- order{Columns: 80, Rows: 24}
				want = idleTimeout
			}
			begin := time.Now()
			if err := s.runSession(ctx, term, address{url: uri.MustParse("telnet://h.example/")}); err != errIdle || time.Since(begin) != want {
				t.Errorf("it ended with %v after %v", err, time.Since(begin))
			}
		}
	})
}

// A discardPage is a page that accepts all messages.
type discardPage struct{}

func (discardPage) Read(context.Context) (websocket.MessageType, []byte, error) {
	return 0, nil, io.EOF
}
func (discardPage) Write(context.Context, websocket.MessageType, []byte) error { return nil }
