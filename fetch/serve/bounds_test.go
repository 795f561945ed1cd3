package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestKeeper(t *testing.T) {
	t.Parallel()
	var k keeper
	u := uri.MustParse("http://h.example/")
	first := k.add(u, fetch.Meta{}, make([]byte, maxKept))
	if c := k.get(first); c == nil || len(c.data) != maxKept {
		t.Fatal("it was not kept")
	}
	for range maxKeptAll / maxKept {
		k.add(u, fetch.Meta{}, make([]byte, maxKept))
	}
	if k.get(first) != nil || k.size > maxKeptAll {
		t.Errorf("%d bytes are kept", k.size)
	}
	if k.get("") != nil {
		t.Error("something has no name")
	}
}

func TestConversationsAreBounded(t *testing.T) {
	t.Parallel()
	conversation := &talk{}
	x := Recorder(context.WithValue(context.Background(), talkKey{}, conversation), nil)
	for range maxLines + 5 {
		x.Line(true, strings.Repeat("x", 2*maxLine))
	}
	if len(conversation.lines) != maxLines || conversation.more != 5 || len(conversation.lines[0].Text) > maxLine+3 {
		t.Errorf("%d lines of %d bytes, and %d", len(conversation.lines), len(conversation.lines[0].Text), conversation.more)
	}
	if Recorder(context.Background(), nil) != nil {
		t.Error("what is for no page is recorded")
	}
}

func TestPagesAskForSoMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		for range maxBurst + int(maxTurn.Seconds())*maxRate {
			done, err := s.turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		var waiting atomic.Int32
		for range 2 * maxRate * int(maxTurn.Seconds()) { // all at the same moment
			go func() {
				if _, err := s.turn(t.Context()); fetch.CodeOf(err) == fetch.ErrBusy {
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

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var end func()
		for range maxActive {
			done, err := s.turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end = done
		}
		begin := time.Now()
		if _, err := s.turn(t.Context()); fetch.CodeOf(err) != fetch.ErrBusy || time.Since(begin) != maxTurn {
			t.Errorf("one more waits for %v: %v", time.Since(begin), err)
		}
		time.AfterFunc(maxTurn/2, end)
		if _, err := s.turn(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := New(Options{Hosts: []string{"h:1"}})
	r := httptest.NewRequest(http.MethodPost, "http://h:1/form", strings.NewReader("--x\r\nContent-Disposition: form-data; name=a0\r\n\r\n"+
		strings.Repeat("x", 2*maxAnswer)+"\r\n--x--\r\n"))
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
