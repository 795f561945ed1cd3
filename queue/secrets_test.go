package queue_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

const (
	password    = "hunter2"
	cookieValue = "0pensesame"
	cookieFile  = "cookie.example\tFALSE\t/\tFALSE\t0\tsid\t" + cookieValue + "\n"
)

// A lockedWorld is a simulation with a site that needs a login, one that needs a cookie, and others.
type lockedWorld struct {
	*simulation
	links     map[string][]string // by URL
	redirects map[string]string

	seen map[string]bool // "HOST SECRET" for each secret that a host received; guarded by mu
	// onRequest, if not nil, is called for each request, with its URL and the login in it.
	onRequest func(url, login string)
	// refuse, if not nil, is called when a worker has new cookies, which it refuses with the error.
	refuse func() error
}

func newLockedWorld(seed uint64, opts queuetest.Options) *lockedWorld {
	w := &lockedWorld{links: map[string][]string{}, redirects: map[string]string{}, seen: map[string]bool{},
		simulation: &simulation{seed: seed, perHost: 2, counts: map[string]int{}, stored: map[string]int{}}}
	opts.Fault = w.fault
	w.model = queuetest.NewModel(opts)
	w.watch = func(c *queuetest.Conn) queue.Engine { return &watchedEngine{c, w} }
	return w
}

// A watchedEngine checks that messages do not contain secrets.
type watchedEngine struct {
	*queuetest.Conn
	world *lockedWorld
}

func (e *watchedEngine) check(what string, data []byte) {
	if bytes.Contains(data, []byte(password)) || bytes.Contains(data, []byte(cookieValue)) {
		e.world.mu.Lock()
		defer e.world.mu.Unlock()
		e.world.failures = append(e.world.failures, fmt.Sprintf("%s contains a secret: %s", what, data))
	}
}

func (e *watchedEngine) Submit(ctx context.Context, p queue.Priority, key string, data []byte) (bool, error) {
	e.check("job", data)
	return e.Conn.Submit(ctx, p, key, data)
}

func (e *watchedEngine) PutResult(ctx context.Context, id string, data []byte) error {
	e.check("result", data)
	return e.Conn.PutResult(ctx, id, data)
}

func (e *watchedEngine) Finish(ctx context.Context, jobs []queue.Finished) []error {
	for _, f := range jobs {
		e.check("result", f.Result)
	}
	return e.Conn.Finish(ctx, jobs)
}

func (e *watchedEngine) PutDead(ctx context.Context, id string, data []byte) error {
	e.check("dead letter", data)
	return e.Conn.PutDead(ctx, id, data)
}

// A lockedDriver is the driver of a worker, with its cookies.
type lockedDriver struct {
	world  *lockedWorld
	worker *worker
	jar    *cookies.Jar
}

// Open implements fetch.Driver.
func (d *lockedDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	d.worker.step()
	host, url := req.URL.Host(), req.URL.WithoutUserinfo().String()
	login, sid := req.URL.Userinfo().Password, ""
	if n, err := req.URL.NetURL(); err == nil && !req.Anonymous {
		for _, c := range d.jar.Cookies(n) {
			sid = c.Value
		}
	}
	d.world.mu.Lock()
	d.world.seen[host+" "+login], d.world.seen[host+" "+sid] = true, true
	d.world.mu.Unlock()
	if d.world.onRequest != nil {
		d.world.onRequest(url, login)
	}
	time.Sleep(time.Duration(d.worker.dice(800, url, d.worker.name)) * time.Millisecond)
	d.worker.step()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case req.URL.Path() == "/robots.txt":
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	case host == "login.example" && login == "":
		return nil, &fetch.Error{Code: fetch.ErrAuth}
	case host == "cookie.example" && sid != cookieValue:
		return nil, &fetch.Error{Code: fetch.ErrRefused}
	}
	final := req.URL
	if to := d.world.redirects[url]; to != "" {
		final = uri.MustParse(to).WithUserinfoOf(req.URL) // as the client does within an origin
		url = to
	}
	page := "<title>" + url + "</title>"
	for _, to := range d.world.links[url] {
		page += fmt.Sprintf("<a href=%q>there</a>", to)
	}
	return &fetch.Response{Meta: fetch.Meta{Size: int64(len(page)), ContentType: "text/html"}, URL: final,
		Body: &closer{strings.NewReader(page), func() {}}}, nil
}

func (w *lockedWorld) process(ctx context.Context, name string) (crashed bool) {
	jar := cookies.New()
	opts := queue.Worker{Retry: retry.Policy{Tries: 30}, Crashes: 100, Crawl: true,
		Cookies: func(file []byte) error {
			if w.refuse != nil {
				if err := w.refuse(); err != nil {
					return err
				}
			}
			return jar.Replace(bytes.NewReader(file))
		}}
	return w.work(ctx, name, opts, func(one *worker) fetch.Scheme {
		return fetch.Scheme{Name: "http", Port: 80, Ops: []fetch.Op{fetch.OpGet}, Driver: &lockedDriver{w, one, jar},
			Traits: fetch.Traits{RedirectTarget: true, Pages: true, HTML: true, Robots: "/robots.txt"}}
	})
}

// crawl starts workers, calls submit a while later, and waits until the crawl ends.
func (w *lockedWorld) crawl(t *testing.T, workers int, submit func(admin queue.Engine, c *queue.Crawl)) map[string]*queue.Event {
	admin := w.watch(w.model.Connect("admin")).(*watchedEngine)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var c *queue.Crawl
	retryCall(t, func() (err error) {
		c, _, err = queue.StartCrawl(t.Context(), admin, &queue.Crawl{Scope: crawl.Scope{SpanHosts: true, MaxDepth: -1}})
		return err
	})
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for n := 0; w.process(ctx, fmt.Sprint("w", i, ".", n)) && ctx.Err() == nil; n++ {
				time.Sleep(time.Duration(w.dice(5, i, n)) * time.Second)
			}
		})
	}
	time.Sleep(time.Second + time.Duration(w.dice(2000, "submit"))*time.Millisecond) // the workers have loaded the crawl
	submit(admin, c)
	for start := time.Now(); w.depth(ctx, admin) > 0; time.Sleep(time.Second) {
		if time.Since(start) > 12*time.Hour {
			t.Error("unfinished pages after 12 hours")
			break
		}
	}
	stop()
	group.Wait()
	results := map[string]*queue.Event{}
	for r, err := range admin.Results(context.WithoutCancel(t.Context()), 0, false) {
		ev := &queue.Event{}
		if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
			t.Fatal(err)
		}
		results[uri.MustParse(ev.URL).WithoutUserinfo().String()] = ev
	}
	for _, text := range w.failures {
		t.Error(text)
	}
	return results
}

var htmlTraits = fetch.Traits{Pages: true, HTML: true}

// TestSecretsSimulation crawls sites that need a login or a cookie, with the faults of
// TestSimulation. The workers have already loaded the crawl when the secrets are stored. Every page
// is retrieved, no other host receives a secret, and no job, result or dead letter contains one.
func TestSecretsSimulation(t *testing.T) {
	simulate(t, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newLockedWorld(seed, queuetest.Options{Limits: queue.Limits{AckWait: 30 * time.Second}, Window: 2 * time.Hour})
		if r.IntN(3) > 0 {
			w.failOneIn, w.crashes = 15+r.IntN(80), r.IntN(6)
		}
		all := map[string]bool{}
		// Each locked site links to its pages and to another host, which links back.
		for site, other := range map[string]string{"http://login.example": "http://other.example", "http://cookie.example": "http://sub.cookie.example"} {
			first := site + "/"
			all[first] = true
			if r.IntN(2) == 0 {
				w.redirects[first] = site + "/home"
				first = site + "/home"
				all[first] = true
			}
			for i := range 1 + r.IntN(4) {
				here, there := fmt.Sprint(site, "/", i), fmt.Sprint(other, "/", i)
				back := fmt.Sprint(site, "/back", i)
				w.links[first] = append(w.links[first], here)
				w.links[here] = []string{first, there}
				w.links[there] = []string{back}
				all[here], all[there], all[back] = true, true, true
			}
		}
		results := w.crawl(t, 1+r.IntN(4), func(admin queue.Engine, c *queue.Crawl) {
			retryCall(t, func() error { return c.SetCookies(t.Context(), admin, []byte(cookieFile)) })
			for _, seed := range []string{"http://joe:" + password + "@login.example/", "http://cookie.example/"} {
				retryCall(t, func() error {
					_, err := c.Submit(t.Context(), admin, queue.Normal, uri.MustParse(seed), htmlTraits)
					return err
				})
			}
		})
		for url := range all {
			want := "saved"
			if w.redirects[url] != "" {
				want = "moved"
			}
			if ev := results[url]; ev == nil || cmp.Or(ev.Reason, ev.Name) != want {
				t.Errorf("%s: %+v, want %s", url, ev, want)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(w.seen)) {
			host, secret, _ := strings.Cut(what, " ")
			if secret != "" && (host != "login.example" || secret != password) && (host != "cookie.example" || secret != cookieValue) {
				t.Errorf("%s received %s", host, secret)
			}
		}
	})
}

// A login that is submitted again replaces the former one for later jobs, although the seed is known.
func TestLoginIsReplacedForLaterJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLockedWorld(1, queuetest.Options{})
		w.links = map[string][]string{"http://login.example/": {"http://login.example/1"}, "http://login.example/1": {"http://login.example/2"}}
		logins := map[string]string{}
		var admin queue.Engine
		var c *queue.Crawl
		submit := func(login string) (known bool) {
			known, err := c.Submit(t.Context(), admin, queue.Normal, uri.MustParse("http://joe:"+login+"@login.example/"), htmlTraits)
			if err != nil {
				t.Error(err)
			}
			return known
		}
		w.onRequest = func(url, login string) {
			if logins[url] = login; url == "http://login.example/1" {
				if !submit("second") {
					t.Error("the seed is not known")
				}
				time.Sleep(3 * time.Second) // the worker has the former login for two seconds
			}
		}
		w.crawl(t, 1, func(e queue.Engine, of *queue.Crawl) {
			admin, c = e, of
			submit("first")
		})
		want := map[string]string{"http://login.example/robots.txt": "", "http://login.example/": "first", "http://login.example/1": "first", "http://login.example/2": "second"}
		if !maps.Equal(logins, want) {
			t.Errorf("%v, want %v", logins, want)
		}
	})
}

// Jobs of former versions have the login in their seed. It is used unless the crawl has a newer one,
// and then the jobs for the links do not contain it.
func TestJobsOfFormerVersionsKeepTheirLogin(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{"", "newer"} {
		synctest.Test(t, func(t *testing.T) {
			w := newLockedWorld(1, queuetest.Options{})
			former := "older" // may be in jobs
			if stored != "" {
				former = password
			}
			w.links = map[string][]string{"http://login.example/old": {"http://login.example/link", "http://other.example/"}}
			logins := map[string]string{}
			w.onRequest = func(url, login string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				logins[url] = login
			}
			results := w.crawl(t, 1, func(admin queue.Engine, c *queue.Crawl) {
				if stored != "" {
					if _, err := c.Submit(t.Context(), admin, queue.Normal, uri.MustParse("http://joe:"+stored+"@login.example/"), htmlTraits); err != nil {
						t.Fatal(err)
					}
				}
				sum := sha256.Sum256([]byte(c.Token + "\nhttp://login.example/old"))
				id := hex.EncodeToString(sum[:16])
				job := `{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://login.example/old"},"page":{"seed":"http://joe:` + former + `@login.example/"}}`
				if _, err := admin.(*watchedEngine).Conn.Submit(t.Context(), queue.Normal, id, []byte(job)); err != nil {
					t.Fatal(err)
				}
			})
			want := cmp.Or(stored, former)
			for url, login := range map[string]string{"http://login.example/old": want, "http://login.example/link": want, "http://other.example/": ""} {
				if ev := results[url]; ev == nil || ev.Name != "saved" || logins[url] != login {
					t.Errorf("with the login %q: %s was requested with the login %q, want %q: %+v", stored, url, logins[url], login, ev)
				}
			}
		})
	}
}

func TestSecretsAreBounded(t *testing.T) {
	t.Parallel()
	e := queuetest.NewModel(queuetest.Options{Limits: queue.Limits{Message: 1000}}).Connect("a")
	c, _, err := queue.StartCrawl(t.Context(), e, &queue.Crawl{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(password, 200)
	if err := c.SetCookies(t.Context(), e, []byte(cookieFile)); err != nil {
		t.Fatal(err)
	}
	_, submitErr := c.Submit(t.Context(), e, queue.Normal, uri.MustParse("http://joe:"+long+"@h/"), htmlTraits)
	for what, err := range map[string]error{"cookies": c.SetCookies(t.Context(), e, []byte(long)), "login": submitErr} {
		if fetch.CodeOf(err) != fetch.ErrRequest || !strings.Contains(err.Error(), "the limit is 1000") || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := e.SetState(t.Context(), queue.Draining); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCookies(t.Context(), e, nil); !errors.Is(err, queue.ErrDraining) {
		t.Errorf("cookies of a draining crawl: %v", err)
	}
	for _, invalid := range []string{`{"logins":{"http://h":"http://joe:` + password + `@[h/"}}`, `"` + password, strings.Repeat(" ", 1<<20) + `{}`} {
		if err := e.Secrets().Put(t.Context(), "all", []byte(invalid)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := queue.StartCrawl(t.Context(), e, c); fetch.CodeOf(err) != fetch.ErrRequest || strings.Contains(err.Error(), password) {
			t.Errorf("invalid secrets: %v", err)
		}
	}
}

// A dead letter of a worker that does not know a field of a job can be retried.
func TestRetryOfJobThatAnotherVersionRefused(t *testing.T) {
	t.Parallel()
	e := queuetest.NewModel(queuetest.Options{}).Connect("a")
	job := `{"v":1,"id":"000102030405060708090a0b0c0d0e0f","time":"2026-03-04T05:06:07Z","job":{"url":"http://h/"},"page":{"seed":"http://h/","secrets":7}}`
	if err := (&queue.Letter{Priority: queue.Low, Raw: []byte(job)}).Retry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	n := 0
	for m, err := range e.Jobs(t.Context(), queue.Low) {
		n++
		if err != nil || !strings.Contains(string(m.Data), `"job":{"url":"http://h/"},"page":{"seed":"http://h/","secrets":7}`) {
			t.Errorf("%s, %v", m.Data, err)
		}
	}
	if n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
	if err := (&queue.Letter{Priority: queue.Low, Raw: []byte("rubbish")}).Retry(t.Context(), e); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("retry of rubbish: %v", err)
	}
}

// While the client does not accept the cookies, no job starts. A job with a revision that does not
// exist is executed.
func TestJobsWaitForCookies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLockedWorld(1, queuetest.Options{})
		refusals := 0
		w.refuse = func() error {
			if refusals++; refusals <= 3 {
				return errors.New("not now")
			}
			return nil
		}
		w.onRequest = func(url, _ string) {
			if refusals <= 3 {
				t.Errorf("request for %s after %d refusals", url, refusals)
			}
		}
		results := w.crawl(t, 1, func(admin queue.Engine, c *queue.Crawl) {
			if err := c.SetCookies(t.Context(), admin, []byte(cookieFile)); err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(c.Token + "\nhttp://cookie.example/"))
			id := hex.EncodeToString(sum[:16])
			job := `{"v":1,"id":"` + id + `","time":"2026-03-04T05:06:07Z","job":{"url":"http://cookie.example/"},"page":{"seed":"http://cookie.example/","secrets":18446744073709551615}}`
			if _, err := admin.Submit(t.Context(), queue.Normal, id, []byte(job)); err != nil {
				t.Fatal(err)
			}
		})
		if ev := results["http://cookie.example/"]; ev == nil || ev.Name != "saved" {
			t.Errorf("%+v", ev)
		}
	})
}

func TestConcurrentSubmittersKeepAllLogins(t *testing.T) {
	t.Parallel()
	m := queuetest.NewModel(queuetest.Options{})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			e := m.Connect(fmt.Sprint(i))
			c, _, err := queue.StartCrawl(t.Context(), e, &queue.Crawl{})
			if err == nil {
				_, err = c.Submit(t.Context(), e, queue.Normal, uri.MustParse(fmt.Sprintf("http://u:%s@h%d/", password, i)), htmlTraits)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	stored, _, err := m.Connect("a").Secrets().Get(t.Context(), "all")
	if n := strings.Count(string(stored), password); n != 20 || err != nil {
		t.Errorf("%d logins, want 20: %v", n, err)
	}
}
