package memento

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/file"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var date = time.Date(1997, 5, 1, 0, 0, 0, 0, time.UTC)

const captured = "Sat, 03 May 1997 10:00:00 GMT"

// startGate starts a TimeGate that answers by the path of its own URL.
func startGate(t *testing.T) *httptest.Server {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // an archive on another host
		w.Header().Set("Memento-Datetime", captured)
		fmt.Fprintf(w, "%s %s", r.URL.Path, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, target, _ := strings.Cut(strings.TrimPrefix(r.RequestURI, "/"), "/")
		if got := r.Header.Get("Accept-Datetime"); got != "Thu, 01 May 1997 00:00:00 GMT" && kind != "loop" {
			t.Errorf("%s: Accept-Datetime is %q", kind, got)
		}
		switch kind {
		case "direct": // RFC 7089, pattern 1.2 and others without a redirect
			w.Header().Set("Memento-Datetime", "Thu, 01 May 1997 00:00:30 GMT")
			fmt.Fprint(w, target)
		case "other":
			http.Redirect(w, r, other.URL+"/capture", http.StatusFound)
		case "loop":
			http.Redirect(w, r, s.URL+r.RequestURI, http.StatusFound)
		case "file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "live":
			fmt.Fprint(w, "the current version")
		case "current": // no capture, and the way to the resource itself
			http.Redirect(w, r, "http://www.h.example/a/?b=c", http.StatusFound)
		case "gone":
			w.Header().Set("Memento-Datetime", captured)
			http.Error(w, "gone", http.StatusNotFound)
		case "moved": // captured as it was (RFC 7089, figure 21)
			if target != "http://b.example/new" {
				w.Header().Set("Location", "http://b.example/new")
				w.Header().Set("Memento-Datetime", captured)
				w.WriteHeader(http.StatusMovedPermanently)
				return
			}
			w.Header().Set("Memento-Datetime", captured)
			fmt.Fprint(w, target)
		case "inside", "secured", "unnamed": // a captured redirect to a capture (figure 22)
			to := map[string]string{"inside": "http://b.example/new", "secured": "https://www.h.example/a?b=c"}[kind]
			if target == "http://h.example/a?b=c" {
				w.Header().Set("Location", "/"+kind+"/"+to)
				w.Header().Set("Link", `<http://h.example/a?b=c>; rel="original"`)
				w.Header().Set("Memento-Datetime", captured)
				w.WriteHeader(http.StatusMovedPermanently)
				return
			}
			if to != "" {
				w.Header().Set("Link", fmt.Sprintf(`<x>; rel="timegate", <%s>; rel="original timemap"`, to))
			}
			w.Header().Set("Memento-Datetime", captured)
			fmt.Fprint(w, target)
		case "another":
			w.Header().Set("Memento-Datetime", captured)
			w.Header().Set("Link", `<http://another.example/>; rel="original"`)
		case "two":
			w.Header()["Memento-Datetime"] = []string{captured, captured}
		case "future":
			w.Header().Set("Memento-Datetime", time.Now().Add(48*time.Hour).UTC().Format(http.TimeFormat))
		case "rfc850":
			w.Header().Set("Memento-Datetime", "Saturday, 03-May-97 10:00:00 GMT")
		case "wrong":
			w.Header().Set("Memento-Datetime", "long ago\x01")
		case "long":
			w.Header().Set("Memento-Datetime", strings.Repeat("x", 4<<20))
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// get retrieves a URL as of date from TimeGates.
func get(t *testing.T, within time.Duration, req *fetch.Request, gates ...string) (*fetch.Response, string, error) {
	t.Helper()
	own := fetch.New(nil, httpdriver.Load, file.Load)
	t.Cleanup(func() { own.Close() })
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{Middleware(Options{Client: own, TimeGates: gates, Within: within,
		At: func(context.Context) time.Time { return date }})}}, httpdriver.Load)
	t.Cleanup(func() { c.Close() })
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

const page = "http://user:secret@h.example/a?b=c#d"

func TestTimeGates(t *testing.T) {
	t.Parallel()
	s := startGate(t)
	for _, tt := range []struct {
		name   string
		gates  []string
		within time.Duration
		text   string
		code   fetch.Code
	}{
		{"without a redirect", []string{"direct/"}, 0, "http://h.example/a?b=c", ""},
		{"with a placeholder", []string{"direct/{}&x"}, 0, "http://h.example/a?b=c&x", ""},
		{"to another host", []string{"other/"}, 0, "/capture ", ""},
		{"near enough", []string{"other/"}, 72 * time.Hour, "/capture ", ""},
		{"too far", []string{"other/"}, time.Hour, "", fetch.ErrNotFound},
		{"the next one", []string{"missing/", "live/", "direct/"}, 0, "http://h.example/a?b=c", ""},
		{"none has it", []string{"missing/", "missing/"}, 0, "", fetch.ErrNotFound},
		{"a failure counts more than a missing capture", []string{"missing/", "broken/"}, 0, "", fetch.ErrServer},
		{"the current version is no capture", []string{"live/"}, 0, "", fetch.ErrProtocol},
		{"a redirect to the current version", []string{"current/"}, 0, "", fetch.ErrNotFound},
		{"a captured redirect", []string{"moved/"}, 0, "http://b.example/new", ""},
		{"a captured redirect to a capture of another URL", []string{"inside/"}, 0, "http://b.example/new", ""},
		{"a captured redirect to the same page", []string{"secured/"}, 0, "https://www.h.example/a?b=c", ""},
		{"a captured redirect to a capture of nothing", []string{"unnamed/"}, 0, "", fetch.ErrProtocol},
		{"a captured redirect that is too far", []string{"moved/"}, time.Hour, "", fetch.ErrNotFound},
		{"a captured failure", []string{"gone/", "direct/"}, 0, "", fetch.ErrNotFound},
		{"a captured failure that is too far", []string{"gone/", "direct/"}, time.Hour, "http://h.example/a?b=c", ""},
		{"a capture of another URL", []string{"another/"}, 0, "", fetch.ErrProtocol},
		{"two dates", []string{"two/"}, 0, "", fetch.ErrProtocol},
		{"a date in the future", []string{"future/"}, 0, "", fetch.ErrProtocol},
		{"a date in another form", []string{"rfc850/"}, 0, "", fetch.ErrProtocol},
		{"no date", []string{"wrong/"}, 0, "", fetch.ErrProtocol},
		{"a loop", []string{"loop/"}, 0, "", fetch.ErrRedirect},
		{"a local file", []string{"file/"}, 0, "", fetch.ErrPolicy},
		{"a long field", []string{"long/"}, 0, "", fetch.ErrProtocol},
		{"no TimeGates", nil, 0, "", fetch.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var gates []string
			for _, gate := range tt.gates {
				gates = append(gates, s.URL+"/"+gate)
			}
			resp, text, err := get(t, tt.within, &fetch.Request{URL: uri.MustParse(page)}, gates...)
			if text != tt.text || fetch.CodeOf(err) != tt.code {
				t.Fatalf("got %q, %v, want %q, %q", text, err, tt.text, tt.code)
			}
			if err != nil {
				return
			}
			if c := resp.Capture; c == nil || c.Seconds <= 0 || strings.Contains(c.Source, "secret") || !strings.HasPrefix(c.Source, "http://127.0.0.1") {
				t.Errorf("the capture is %+v", c)
			}
			if u := resp.URL.WithoutFragment().WithoutUserinfo().String(); u != "http://h.example/a?b=c" && u != "http://b.example/new" {
				t.Errorf("the URL is %s", u)
			}
		})
	}
}

func TestCapturedFailuresSayWhen(t *testing.T) {
	t.Parallel()
	_, _, err := get(t, 0, &fetch.Request{URL: uri.MustParse(page)}, startGate(t).URL+"/gone/")
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "get http://user:xxxxx@h.example/a?b=c#d: not found: captured on 1997-05-03 10:00:00 UTC, 2 days later, in http://127") || !strings.HasSuffix(text, "(404 Not Found)") {
		t.Error(text)
	}
}

// The current version is not contacted, although a captured redirect leads to it.
func TestCapturedRedirectsDoNotLeadToTheCurrentVersion(t *testing.T) {
	t.Parallel()
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a request for %s", r.URL)
		w.Header().Set("Memento-Datetime", captured)
	}))
	t.Cleanup(live.Close)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Memento-Datetime", captured)
		if strings.HasSuffix(r.RequestURI, "/new") {
			fmt.Fprint(w, "as it was")
			return
		}
		w.Header().Set("Location", live.URL+"/new")
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(gate.Close)
	resp, text, err := get(t, 0, &fetch.Request{URL: uri.MustParse(live.URL + "/old")}, gate.URL+"/")
	if err != nil || text != "as it was" || resp.URL.String() != live.URL+"/new" || len(resp.Via) != 1 {
		t.Errorf("got %q, %v", text, err)
	}
}

// A TimeGate on a public address leads to private ones no more than any other server.
func TestPublicTimeGatesDoNotLeadToPrivateAddresses(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // hides the addresses
		if r.URL.Host != "gate.example" {
			t.Errorf("a request for %s", r.URL)
		}
		if strings.HasPrefix(r.URL.Path, "/captured") {
			w.Header().Set("Memento-Datetime", captured)
		}
		http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
	}))
	t.Cleanup(proxy.Close)
	own := fetch.New(&fetch.Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.Parse(proxy.URL) }}, httpdriver.Load)
	t.Cleanup(func() { own.Close() })
	for _, gate := range []string{"http://gate.example/", "http://gate.example/captured/"} {
		c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{Middleware(Options{Client: own, TimeGates: []string{gate},
			At: func(context.Context) time.Time { return date }})}}, httpdriver.Load)
		t.Cleanup(func() { c.Close() })
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(page)}); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s: %v", gate, err)
		}
	}
}

// The user's secrets are for the servers of URLs, not for TimeGates.
func TestTimeGatesGetNoCredentials(t *testing.T) {
	t.Parallel()
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "Cookie", "X-Secret"} {
			if r.Header.Get(name) != "" || strings.Contains(r.RequestURI, "secret") {
				t.Errorf("the request is %s, with %v", r.RequestURI, r.Header)
			}
		}
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(gate.Close)
	own := fetch.New(&fetch.Options{Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "user", Password: "secret"}, nil
	})}, httpdriver.Load)
	t.Cleanup(func() { own.Close() })
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{Middleware(Options{Client: own, TimeGates: []string{gate.URL + "/"},
		At: func(context.Context) time.Time { return date }})}}, httpdriver.Load)
	t.Cleanup(func() { c.Close() })
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(page), Header: map[string][]string{"X-Secret": {"secret"}, "Cookie": {"secret"}}}); fetch.CodeOf(err) != fetch.ErrAuth {
		t.Error(err)
	}
}

func TestOnlyGetRequestsHaveCaptures(t *testing.T) {
	t.Parallel()
	gate := startGate(t).URL + "/direct/"
	for name, req := range map[string]*fetch.Request{"POST": {Method: "POST"}, "a body": {Body: io.NopCloser(strings.NewReader("x"))}} {
		req.URL = uri.MustParse(page)
		if _, _, err := get(t, 0, req, gate); fetch.CodeOf(err) != fetch.ErrNotRetrievable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCapturesAreDescribed(t *testing.T) {
	t.Parallel()
	for offset, want := range map[time.Duration]string{0: "1997-05-01 00:00:00 UTC, in a.warc", 59 * time.Second: "59 seconds later",
		-time.Hour: "1 hour earlier", 48 * time.Hour: "2 days later", 800 * 24 * time.Hour: "2 years later"} {
		if got := fetch.NewCapture(date.Add(offset), "a.warc", date).String(); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", offset, got, want)
		}
	}
}
