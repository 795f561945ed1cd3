package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"reflect"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestRedirects(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"http://a/":          "-> http://b/x",
		"http://b/x":         "-> y",
		"http://b/y":         "the end",
		"http://loop/":       "-> http://loop/",
		"http://ping/":       "-> http://pong/",
		"http://pong/":       "-> http://ping/",
		"http://tofile/":     "-> file:///etc/passwd",
		"http://totelnet/":   "-> telnet://h/",
		"http://tomail/":     "-> mailto:a@b",
		"http://toport/":     "-> http://h:25/",
		"http://toprivate/":  "-> http://127.0.0.1/",
		"http://tounknown/":  "-> foo://h/",
		"http://choice/":     "-> foo://h/ | file:///etc/passwd | http://b/y | http://a/",
		"http://nochoice/":   "-> foo://h/ | file:///etc/passwd",
		"http://tolost/":     "-> http://lost/",
		"file:///to/file":    "-> file:///etc/motd",
		"file:///etc/motd":   "welcome",
		"file:///etc/passwd": "root:x:0:0",
	}
	tests := []struct {
		url  string
		want string
		code fetch.Code
	}{
		{"http://a/", "the end", ""},
		{"http://b/x#part", "the end", ""},
		{"http://loop/", "", fetch.ErrRedirect},
		{"http://ping/", "", fetch.ErrRedirect},
		{"http://tofile/", "", fetch.ErrPolicy},
		{"http://totelnet/", "", fetch.ErrPolicy},
		{"http://tomail/", "", fetch.ErrPolicy},
		{"http://toport/", "", fetch.ErrPolicy},
		{"http://toprivate/", "", fetch.ErrPolicy},
		{"http://tounknown/", "", fetch.ErrScheme},
		{"http://choice/", "the end", ""},
		{"http://nochoice/", "", fetch.ErrScheme},
		{"http://tolost/", "", fetch.ErrNotFound},
		{"file:///to/file", "welcome", ""},
	}
	for _, tt := range tests {
		web := &fakeWeb{pages: pages}
		c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
		got, err := text(t, c, tt.url)
		if got != tt.want || fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, error %v; want %q and class %q", tt.url, got, err, tt.want, tt.code)
		}
		for _, u := range web.urls() {
			if strings.HasSuffix(u, "passwd") {
				t.Errorf("%s: %s was opened", tt.url, u)
			}
		}
	}
}

func TestResponseVia(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/x", "http://b/x": "-> y#own", "http://b/y": "-> z", "http://b/z": "end"}}
	c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
	resp, err := c.Get(t.Context(), "http://a/#a%2Fb")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, want := fmt.Sprint(resp.Via), "[http://a/#a%2Fb http://b/x#a%2Fb http://b/y#own]"; got != want {
		t.Errorf("Via is %s, want %s", got, want)
	}
	if got, want := resp.URL.String(), "http://b/z#own"; got != want {
		t.Errorf("URL is %s, want %s: a fragment is inherited as it is written", got, want)
	}
}

func TestMaxRedirects(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for i := range 20 {
		pages[fmt.Sprintf("http://h/%d", i)] = fmt.Sprintf("-> /%d", i+1)
	}
	pages["http://h/20"] = "end"
	const none = -2 // Options.NoRedirects
	for _, tt := range []struct{ max, start, opened int }{
		{0, 10, 11}, {0, 9, 11}, {3, 17, 4}, {3, 16, 4}, {-1, 0, 21}, {20, 0, 21}, {none, 20, 1}, {none, 19, 1},
	} {
		web := &fakeWeb{pages: pages}
		c := fetch.New(&fetch.Options{Proxy: noProxy, MaxRedirects: tt.max, NoRedirects: tt.max == none}, web.load)
		_, err := text(t, c, fmt.Sprintf("http://h/%d", tt.start))
		allowed := map[int]int{0: 10, 3: 3, 20: 20, -1: 1000, none: 0}[tt.max]
		if fits := 20-tt.start <= allowed; fits != (err == nil) || err != nil && fetch.CodeOf(err) != fetch.ErrRedirect {
			t.Errorf("%d hops with a limit of %d: %v", 20-tt.start, tt.max, err)
		}
		if got := len(web.urls()); got != tt.opened {
			t.Errorf("%d hops with a limit of %d: %d exchanges, want %d", 20-tt.start, tt.max, got, tt.opened)
		}
	}
}

func TestSecretsStayOnTheirOrigin(t *testing.T) {
	t.Parallel()
	header := textproto.MIMEHeader{
		"Authorization": {"secret"}, "cookie": {"secret"}, "Proxy-Authorization": {"secret"}, "Referer": {"http://a/"}, "X-Other": {"1"},
		"host": {"inner.example"}, "User-Agent": {"Robot"},
	}
	form := map[string][]string{"Password": {"secret"}}
	tests := []struct {
		from, to string
		kept     bool
		url      string // the last requested URL
	}{
		{"http://u:p@a/", "/x", true, "http://u:p@a/x"},
		{"http://u:p@a/", "http://a/x", true, "http://u:p@a/x"},
		{"http://u:p@a/", "http://a:80/x", true, "http://u:p@a:80/x"},
		{"http://u:p@a/", "http://v@a/x", true, "http://v@a/x"},
		{"http://u:p@a/", "http://b/x", false, "http://b/x"},
		{"http://u:p@a/", "https://a/x", false, "https://a/x"},
		{"http://u:p@a/", "http://a:8080/x", false, "http://a:8080/x"},
		{"https://u:p@a/", "http://a/x", false, "http://a/x"},
	}
	for _, tt := range tests {
		web := &fakeWeb{pages: map[string]string{uri.MustParse(tt.from).WithoutUserinfo().String(): "-> " + tt.to}}
		c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
		before := fmt.Sprint(header)
		_, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.from), Header: header, Form: form})
		if fetch.CodeOf(err) != fetch.ErrNotFound || len(web.requests) != 2 {
			t.Fatalf("%s to %s: %v, %q", tt.from, tt.to, err, web.urls())
		}
		last := web.requests[1]
		if last.URL.String() != tt.url {
			t.Errorf("%s to %s: asked for %s, want %s", tt.from, tt.to, last.URL, tt.url)
		}
		want := textproto.MIMEHeader{"X-Other": {"1"}, "User-Agent": {"Robot"}}
		switch {
		case tt.kept:
			want = header
		case strings.HasPrefix(tt.from, "https:") && strings.HasPrefix(tt.to, "http:"):
			delete(want, "X-Other")
		}
		if !reflect.DeepEqual(last.Header, want) {
			t.Errorf("%s to %s: header %v, want %v", tt.from, tt.to, last.Header, want)
		}
		if (last.Form != nil) != tt.kept {
			t.Errorf("%s to %s: form %v", tt.from, tt.to, last.Form)
		}
		if last.From.String() != tt.from {
			t.Errorf("%s to %s: From is %s", tt.from, tt.to, last.From)
		}
		if fmt.Sprint(header) != before {
			t.Fatal("the caller's header was changed")
		}
	}
}

// Redirects may only lead to web and file servers: a request in another protocol may have side
// effects on the server that receives it.
func TestRedirectsLeadToFewSchemes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		policy   fetch.Policy
		ok       bool
	}{
		{from: "http://a/", to: "https://b/", ok: true},
		{from: "http://a/", to: "ftp://b/", ok: true},
		{from: "gopher://a/", to: "http://b/", ok: true},
		{from: "gopher://a/", to: "gopher://b/", ok: true},
		{from: "gopher://a/", to: "gophers://b/", ok: true},
		{from: "gophers://a/", to: "gopher://b/", ok: true},
		{from: "http://a/", to: "gopher://b:7070/"},
		{from: "https://a/", to: "finger://b:7979/"},
		{from: "ftp://a/", to: "gopher://b/"},
		{from: "gopher://a/", to: "finger://b/"},
		{from: "http://a/", to: "data:,x"},
		{from: "http://a/", to: "gopher://b/", policy: fetch.Policy{AllowRedirects: []string{"finger", "gopher"}}, ok: true},
		{from: "http://a/", to: "finger://b/", policy: fetch.Policy{AllowRedirects: []string{"gopher"}}},
		{from: "http://a/", to: "data:,x", policy: fetch.Policy{AllowRedirects: []string{"data"}}},
		{from: "x-links://a/", to: "finger://b/", ok: true}, // Scheme.Refers is set
		{from: "x-local://a/", to: "finger://b/", ok: true}, // Scheme.Local is set
	}
	for _, tt := range tests {
		web := &fakeWeb{pages: map[string]string{tt.from: "-> " + tt.to, tt.to: "there"}}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &tt.policy}, web.load, func(_ fetch.Env, reg *fetch.Registry) {
			for _, name := range []string{"gopher", "gophers", "finger", "data", "x-links", "x-local"} {
				reg.Register(fetch.Scheme{Name: name, Ops: []fetch.Op{fetch.OpGet}, Driver: web,
					Refers: name == "x-links", Local: name == "x-local"})
			}
		})
		got, err := text(t, c, tt.from)
		var e *fetch.Error
		switch {
		case tt.ok:
			if got != "there" || err != nil {
				t.Errorf("%s to %s: %q, %v", tt.from, tt.to, got, err)
			}
		case !errors.As(err, &e) || e.Code != fetch.ErrPolicy || e.Reason.Kind != fetch.ReasonRedirect ||
			e.Reason.Scheme != uri.MustParse(tt.to).Scheme():
			t.Errorf("%s to %s: error %v, want the policy's", tt.from, tt.to, err)
		case len(web.urls()) != 1:
			t.Errorf("%s to %s: refused after the driver was asked", tt.from, tt.to)
		}

		// A link in a listing or a page is not a redirect.
		if to := uri.MustParse(tt.to); to.Scheme() != "data" {
			resp, err := c.Do(t.Context(), &fetch.Request{URL: to, From: uri.MustParse(tt.from)})
			if err != nil {
				t.Errorf("%s, found at %s: %v", tt.to, tt.from, err)
				continue
			}
			resp.Body.Close()
		}
	}
}

// A URL that a driver opens counts as a hop and is subject to the policy and the middleware.
func TestEnvOpen(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"http://a/":      "! http://b/",
		"http://b/":      "-> http://c/",
		"http://c/":      "end",
		"http://self/":   "! http://self/",
		"http://tofile/": "! file:///etc/passwd",
		"http://to25/":   "! http://h:25/",
		"http://tolost/": "! http://lost/",
	}
	for _, tt := range []struct {
		url, want string
		code      fetch.Code
	}{
		{"http://a/", "end", ""},
		{"http://self/", "", fetch.ErrRedirect},
		{"http://tofile/", "", fetch.ErrPolicy},
		{"http://to25/", "", fetch.ErrPolicy},
		{"http://tolost/", "", fetch.ErrNotFound},
	} {
		web := &fakeWeb{pages: pages}
		passed := 0
		c := fetch.New(&fetch.Options{Proxy: noProxy, Middleware: []fetch.Middleware{func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				passed++
				return next.Open(ctx, req)
			})
		}}}, web.load)
		got, err := text(t, c, tt.url)
		if got != tt.want || fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, error %v; want %q and class %q", tt.url, got, err, tt.want, tt.code)
		}
		if n := len(web.requests); passed != n || n > 11 {
			t.Errorf("%s: %d exchanges, %d through the middleware", tt.url, n, passed)
		}
		if len(web.requests) > 1 && web.requests[1].From != web.requests[0].URL {
			t.Errorf("%s: what the driver opened has From %s", tt.url, web.requests[1].From)
		}
	}
}

func TestEnvOpenOutsideARequestFails(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{}
	fetch.New(nil, web.load)
	if _, err := web.env.Open(t.Context(), &fetch.Request{URL: uri.MustParse("http://h/")}); !strings.Contains(fmt.Sprint(err), "foreign context") {
		t.Errorf("Env.Open without a request that it belongs to: %v", err)
	}
}

func TestRequestRedirect(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop here")
	web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/x", "http://b/x": "-> y", "http://b/y": "end"}}
	c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
	var targets []string
	_, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("http://a/"), Redirect: func(to uri.URI) error {
		if targets = append(targets, to.String()); len(targets) == 2 {
			return stop
		}
		return nil
	}})
	var e *fetch.Error
	if !errors.Is(err, stop) || !errors.As(err, &e) || e.Retry || e.URL != "http://b/x" {
		t.Errorf("%#v", err)
	}
	if got := fmt.Sprint(targets, web.urls()); got != "[http://b/x http://b/y] [http://a/ http://b/x]" {
		t.Errorf("targets and requests: %s", got)
	}
}
