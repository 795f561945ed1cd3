package fetch_test

import (
	"context"
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

func TestResponseTellsTheWay(t *testing.T) {
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
	if len(resp.Location) != 0 {
		t.Errorf("Location is %v", resp.Location)
	}
}

func TestMaxRedirects(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for i := range 20 {
		pages[fmt.Sprintf("http://h/%d", i)] = fmt.Sprintf("-> /%d", i+1)
	}
	pages["http://h/20"] = "end"
	for _, tt := range []struct{ max, start, opened int }{
		{0, 10, 11}, {0, 9, 11}, {3, 17, 4}, {3, 16, 4}, {-1, 20, 1}, {-1, 19, 1}, {20, 0, 21},
	} {
		web := &fakeWeb{pages: pages}
		c := fetch.New(&fetch.Options{Proxy: noProxy, MaxRedirects: tt.max}, web.load)
		_, err := text(t, c, fmt.Sprintf("http://h/%d", tt.start))
		allowed := tt.max
		if allowed == 0 {
			allowed = 10
		}
		if fits := 20-tt.start <= max(allowed, 0); fits != (err == nil) || err != nil && fetch.CodeOf(err) != fetch.ErrRedirect {
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
	}
	form := map[string][]string{"Password": {"secret"}}
	tests := []struct {
		from, to string
		kept     bool
		url      string // what is asked for in the end
	}{
		{"http://u:p@a/", "/x", true, "http://u:p@a/x"},
		{"http://u:p@a/", "http://a/x", true, "http://u:p@a/x"},
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
		if fetch.CodeOf(err) != fetch.ErrNotFound || len(web.asked) != 2 {
			t.Fatalf("%s to %s: %v, %q", tt.from, tt.to, err, web.urls())
		}
		last := web.asked[1]
		if last.URL.String() != tt.url {
			t.Errorf("%s to %s: asked for %s, want %s", tt.from, tt.to, last.URL, tt.url)
		}
		want := textproto.MIMEHeader{"X-Other": {"1"}}
		if tt.kept {
			want = header
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

// What a driver opens on the way counts as a hop, obeys the policy and passes
// the middleware.
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
		if n := len(web.asked); passed != n || n > 11 {
			t.Errorf("%s: %d exchanges, %d through the middleware", tt.url, n, passed)
		}
		if len(web.asked) > 1 && web.asked[1].From != web.asked[0].URL {
			t.Errorf("%s: what the driver opened has From %s", tt.url, web.asked[1].From)
		}
	}
}

func TestEnvOpenOutsideARequestFails(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{}
	fetch.New(nil, web.load)
	if _, err := web.env.Open(t.Context(), &fetch.Request{URL: uri.MustParse("http://h/")}); err == nil {
		t.Error("Env.Open works without a request that it belongs to")
	}
}
