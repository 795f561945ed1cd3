package jetstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A lockedWeb has three servers with pages that link to each other: one needs a login, one a cookie.
type lockedWeb struct {
	login, cookie, other string // URLs
	mu                   sync.Mutex
	leaks                []string
}

const (
	webPassword = "hunter2"
	webCookie   = "0pensesame"
)

func newLockedWeb(t *testing.T) *lockedWeb {
	w := &lockedWeb{}
	serve := func(kind string, allowed func(*http.Request) bool) string {
		s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
			_, password, _ := req.BasicAuth()
			cookie := req.Header.Get("Cookie")
			if password != "" && kind != "login" || cookie != "" && kind != "cookie" {
				w.mu.Lock()
				w.leaks = append(w.leaks, fmt.Sprint(kind, " ", req.URL, " ", req.Header))
				w.mu.Unlock()
			}
			switch {
			case req.URL.Path == "/robots.txt":
				http.NotFound(out, req)
			case !allowed(req) && kind == "login":
				out.Header().Set("WWW-Authenticate", "Basic realm=x")
				out.WriteHeader(http.StatusUnauthorized)
			case !allowed(req):
				out.WriteHeader(http.StatusForbidden)
			case req.URL.Path == "/" && kind == "login":
				http.Redirect(out, req, "/home", http.StatusFound)
			default:
				out.Header().Set("Content-Type", "text/html")
				for i := range 6 {
					fmt.Fprintf(out, "<a href=/%d>here</a>", i)
				}
				if kind != "other" {
					fmt.Fprintf(out, "<a href=%s/%s>there</a>", w.other, kind)
				}
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	w.login = serve("login", func(req *http.Request) bool {
		user, password, _ := req.BasicAuth()
		return user == "joe" && password == webPassword
	})
	w.cookie = serve("cookie", func(req *http.Request) bool { return req.Header.Get("Cookie") == "sid="+webCookie })
	// Ports do not separate cookies, so the site with the cookie has another name.
	w.cookie = strings.Replace(w.cookie, "127.0.0.1", "localhost", 1)
	w.other = serve("other", func(*http.Request) bool { return true })
	return w
}

// work runs workers of a crawl until it has no jobs left.
func (w *lockedWeb) work(t *testing.T, admin *jetstream.Engine, opts jetstream.Options, logs *lines) {
	t.Helper()
	store, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	for i := range 3 {
		e, jar := open(t, opts), cookies.New()
		client := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true, AllowPrivate: true, AllowPorts: w.ports()}, Logger: logs.logger()},
			httpdriver.With(httpdriver.Options{Jar: jar}))
		t.Cleanup(func() { client.Close() })
		group.Go(func() {
			w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store,
				Name: fmt.Sprint("w", i), Parallel: 4, PerHost: 8, Crawl: true, Logger: logs.logger(),
				Cookies: func(file []byte) error { return jar.Replace(bytes.NewReader(file)) }}
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, "the end of the crawl", func() bool {
		s, err := admin.Status(t.Context())
		return err == nil && s.Depth() == 0
	})
	stop()
}

func (w *lockedWeb) ports() (ports []uint16) {
	for _, url := range []string{w.login, w.cookie, w.other} {
		ports = append(ports, uri.MustParse(url).Port(0))
	}
	return ports
}

// With rights for each role, workers retrieve every page of sites that need a login or a cookie. The
// only message with a secret is the one that holds them, and a reader cannot read it. Forget deletes
// it.
func TestSecretsOfCrawlWithRights(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		rights, err := os.ReadFile(rightsFile)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, withJetStream(t, string(rights)))
		login := func(role string) jetstream.Options {
			return jetstream.Options{URL: s.withLogin(role + ":" + roles[role].password), Crawl: "docs"}
		}
		admin := open(t, login("admin"))
		secretsIn := watchMessages(t, login("admin").URL)
		web, logs := newLockedWeb(t), &lines{}
		submitter := open(t, login("submitter"))
		c, _, err := queue.StartCrawl(t.Context(), submitter, &queue.Crawl{Scope: crawl.Scope{SpanHosts: true, MaxDepth: -1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetCookies(t.Context(), submitter, []byte("localhost\tFALSE\t/\tFALSE\t0\tsid\t"+webCookie+"\n")); err != nil {
			t.Fatal(err)
		}
		for _, seed := range []string{strings.Replace(web.login, "//", "//joe:"+webPassword+"@", 1), web.cookie} {
			if _, err := c.Submit(t.Context(), submitter, queue.Normal, uri.MustParse(seed+"/"), fetch.Traits{Pages: true, HTML: true}); err != nil {
				t.Fatal(err)
			}
		}
		web.work(t, admin, login("worker"), logs)

		reader := open(t, login("reader"))
		counts := map[string]int{}
		for r, err := range reader.Results(t.Context(), 0, false) {
			ev := &queue.Event{}
			if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
				t.Fatal(err)
			}
			counts[ev.Name]++
		}
		// The redirect; 7 pages that need the login, 7 that need the cookie, and 8 others.
		if counts["skipped"] != 1 || counts["saved"] != 22 || len(counts) != 2 {
			t.Errorf("results %v", counts)
		}
		if text := logs.String(); strings.Contains(text, webPassword) || strings.Contains(text, webCookie) {
			t.Errorf("a secret is in the log: %s", text)
		}
		if len(web.leaks) > 0 {
			t.Errorf("other servers received secrets: %q", web.leaks)
		}
		if leaks, held := secretsIn(); len(leaks) > 0 || held == 0 {
			t.Errorf("messages with secrets: %q; %d messages hold the secrets", leaks, held)
		}
		if err := errors.Join(count(0)(reader.Jobs(t.Context(), queue.Normal)), count(0)(reader.Dead(t.Context(), 0))); err != nil {
			t.Error(err)
		}
		if _, _, err := reader.Secrets().Get(t.Context(), "all"); fetch.CodeOf(err) != fetch.ErrRefused {
			t.Errorf("the reader reads the secrets: %v", err)
		}
		if _, err := queue.LoadCrawl(t.Context(), reader); err != nil {
			t.Errorf("the reader reads the crawl: %v", err)
		}
		if err := open(t, login("worker")).Secrets().Put(t.Context(), "all", []byte("{}")); fetch.CodeOf(err) != fetch.ErrRefused {
			t.Errorf("the worker changes the secrets: %v", err)
		}
		if err := admin.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		if value, _, err := open(t, login("admin")).Secrets().Get(t.Context(), "all"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("secrets after Forget: %q, %v", value, err)
		}
	})
}

// watchMessages watches all messages to a server. The function returns the subjects of those with
// secrets, and the number of messages that hold the secrets.
func watchMessages(t *testing.T, url string) func() (leaks []string, held int) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	sub, err := conn.SubscribeSync("urlget.>")
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(-1, -1), conn.FlushTimeout(patience))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() (leaks []string, held int) {
		t.Helper()
		if err := conn.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
		n, _, err := sub.Pending()
		for ; n > 0 && err == nil; n-- {
			var m *nats.Msg
			if m, err = sub.NextMsg(patience); err != nil {
				break
			}
			switch {
			case m.Subject == "urlget.crawl.docs.secrets.all":
				held++
			case bytes.Contains(m.Data, []byte(webPassword)), bytes.Contains(m.Data, []byte(webCookie)):
				leaks = append(leaks, m.Subject)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return leaks, held
	}
}
