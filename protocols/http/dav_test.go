package http_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/hsts"
)

// A share is a WebDAV server with a collection /d/, whose members are the file a and the collection c. Get
// responds to GET of a collection.
type share struct {
	get  http.HandlerFunc
	auth func(*http.Request) bool // nil: no login

	mu  sync.Mutex
	log []string
}

func (s *share) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	line := r.Method + " " + r.URL.Path
	if d := r.Header.Get("Depth"); d != "" {
		line += " " + d
	}
	s.log = append(s.log, line)
	s.mu.Unlock()
	if s.auth != nil && !s.auth(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	isDir := r.URL.Path == "/d" || r.URL.Path == "/d/"
	isFile := r.URL.Path == "/d/a" || r.URL.Path == "/d/page"
	switch {
	case !isDir && !isFile:
		http.NotFound(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Add("DAV", "3")
		w.Header().Add("DAV", "2, 1 , <http://apache.org/dav/propset/fs/1>")
	case r.Method == "PROPFIND":
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "<resourcetype/>") || r.Header.Get("Content-Type") != "application/xml; charset=utf-8" {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMultiStatus)
		io.WriteString(w, `<multistatus xmlns="DAV:">`)
		dir := "<collection/>"
		if isFile {
			dir = ""
		}
		resource := func(path, kind, more string) {
			fmt.Fprintf(w, `<response><href>%s</href><propstat><prop><resourcetype>%s</resourcetype>%s</prop><status>HTTP/1.1 200 OK</status></propstat></response>`, path, kind, more)
		}
		resource(r.URL.Path, dir, `<getetag>"1"</getetag><getlastmodified>Mon, 03 Feb 2020 04:05:06 GMT</getlastmodified>`)
		if isDir && r.Header.Get("Depth") == "1" {
			resource("/d/a", "", "<getcontentlength>7</getcontentlength>")
			resource("/d/c/", "<collection/>", "")
		}
		io.WriteString(w, "</multistatus>")
	case isDir:
		s.get(w, r)
	case r.URL.Path == "/d/page":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>content")
	default:
		http.ServeContent(w, r, "a.txt", time.Unix(1e9, 0), strings.NewReader("content"))
	}
}

func (s *share) takeLog() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func methodNotAllowed(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusMethodNotAllowed)
}

// overDAV returns a URL of the server with a scheme of WebDAV.
func overDAV(u string) string { return "dav" + strings.TrimPrefix(u, "http") }

func entriesOf(t *testing.T, resp *fetch.Response) (list []string) {
	t.Helper()
	for e, err := range resp.Entries {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(e.Kind, " ", e.URL.Path(), " ", e.Size))
	}
	return list
}

// TestCollectionsAreListings requests a collection with and without a slash, of servers with different
// responses to GET.
func TestCollectionsAreListings(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]http.HandlerFunc{
		"405": methodNotAllowed,
		"501": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) },
		"403": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+r.Host+"/d/", http.StatusMovedPermanently)
		},
		"a relative redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/d/")
			w.WriteHeader(http.StatusMovedPermanently)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<p>This is WebDAV.") },
	} {
		s := &share{get: get}
		base := overDAV(serve(t, s.ServeHTTP))
		c := newClient(t, nil, urlhttp.Options{})
		for _, path := range []string{"/d", "/d/"} {
			for _, op := range []fetch.Op{fetch.OpGet, fetch.OpList, fetch.OpStat} {
				resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(base + path), Op: op})
				if err != nil {
					t.Errorf("%s: %s %s: %v", name, op, path, err)
					continue
				}
				if resp.Kind != fetch.KindListing || resp.URL.String() != base+"/d/" {
					t.Errorf("%s: %s %s: %s at %s", name, op, path, resp.Kind, resp.URL)
				}
				switch {
				case op != fetch.OpStat:
					if got, want := entriesOf(t, resp), []string{"object /d/a 7", "listing /d/c/ -1"}; !slices.Equal(got, want) {
						t.Errorf("%s: %s %s: %q, want %q", name, op, path, got, want)
					}
				case !resp.Validator.IsZero() || resp.Size != -1: // like those of the listing
					t.Errorf("%s: %s %s: %+v", name, op, path, resp.Meta)
				}
				resp.Body.Close()
			}
		}
	}
}

func TestFilesOfWebDAV(t *testing.T) {
	t.Parallel()
	s := &share{get: methodNotAllowed}
	base := overDAV(serve(t, s.ServeHTTP))
	c := newClient(t, nil, urlhttp.Options{})
	for _, tt := range []struct {
		path  string
		op    fetch.Op
		rng   fetch.Range
		want  string
		code  fetch.Code
		asked []string
	}{
		{path: "/d/a", want: "content", asked: []string{"GET /d/a"}},
		{path: "/d/a", rng: fetch.Range{Offset: 2, Length: 3}, want: "nte", asked: []string{"GET /d/a"}},
		{path: "/d/a", rng: fetch.Range{Offset: -3}, want: "ent", asked: []string{"GET /d/a"}},
		{path: "/d/a", op: fetch.OpStat, asked: []string{"HEAD /d/a"}},
		{path: "/d/a", op: fetch.OpList, code: fetch.ErrNotRetrievable, asked: []string{"PROPFIND /d/a 0"}},
		{path: "/d/page", want: "<p>content", asked: []string{"GET /d/page", "PROPFIND /d/page 0", "GET /d/page"}},
		{path: "/d/b", code: fetch.ErrNotFound, asked: []string{"GET /d/b"}},
		{path: "/d/b", op: fetch.OpStat, code: fetch.ErrNotFound, asked: []string{"HEAD /d/b"}},
		{path: "/d/b", op: fetch.OpList, code: fetch.ErrNotFound, asked: []string{"PROPFIND /d/b 0"}},
		{path: "/b/", code: fetch.ErrNotFound, asked: []string{"PROPFIND /b/ 1"}},
	} {
		got, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(base + tt.path), Op: tt.op, Range: tt.rng})
		if log := s.takeLog(); got != tt.want || fetch.CodeOf(err) != tt.code || !slices.Equal(log, tt.asked) {
			t.Errorf("%s %s: %q, %v, requests %q, want %q, class %q, %q", tt.op, tt.path, got, err, log, tt.want, tt.code, tt.asked)
		}
	}
}

func TestServersWithoutWebDAV(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		code   fetch.Code
	}{
		"405":            {405, "", fetch.ErrNotRetrievable},
		"501":            {501, "", fetch.ErrNotRetrievable},
		"403":            {403, "", fetch.ErrRefused},
		"500":            {500, "", fetch.ErrServer},
		"a page":         {200, "<html><body></body></html>", fetch.ErrNotRetrievable},
		"a page as 207":  {207, "<html><body></body></html>", fetch.ErrProtocol},
		"nothing as 207": {207, "", fetch.ErrProtocol},
		"bytes as 207":   {207, "<\x00\x01 >", fetch.ErrProtocol},
		"half a 207":     {207, `<multistatus xmlns="DAV:"><response><href>/d/</href>`, fetch.ErrTruncated},
	} {
		base := overDAV(serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}))
		c := newClient(t, nil, urlhttp.Options{})
		for _, path := range []string{"/d/", "/d"} {
			if _, err := drive.List(t, c, base+path); fetch.CodeOf(err) != tt.code {
				t.Errorf("%s, %s: %v, want %s", name, path, err, tt.code)
			}
		}
	}
}

// TestPagesAreListedOverWebDAV checks listings of http URLs, and that a server is asked once.
func TestPagesAreListedOverWebDAV(t *testing.T) {
	t.Parallel()
	s := &share{get: methodNotAllowed}
	base := serve(t, s.ServeHTTP)
	c := newClient(t, nil, urlhttp.Options{})
	for i, tt := range []struct {
		path  string
		code  fetch.Code
		asked []string
	}{
		{"/none/", fetch.ErrNotRetrievable, []string{"OPTIONS /none/"}},
		{"/none/", fetch.ErrNotRetrievable, nil},
		{"/d/", "", []string{"OPTIONS /d/", "PROPFIND /d/ 1"}},
		{"/d/", "", []string{"PROPFIND /d/ 1"}},
		{"/d/a", fetch.ErrNotRetrievable, nil},
		{"/none/", fetch.ErrNotFound, []string{"PROPFIND /none/ 1"}},
	} {
		entries, err := drive.List(t, c, base+tt.path)
		if log := s.takeLog(); fetch.CodeOf(err) != tt.code || !slices.Equal(log, tt.asked) {
			t.Errorf("%d: %s: %v, requests %q, want class %q, %q", i, tt.path, err, log, tt.code, tt.asked)
		}
		if tt.code == "" && (len(entries) != 2 || entries[0].URL.String() != base+"/d/a") {
			t.Errorf("%d: %s: %v", i, tt.path, entries)
		}
		if tt.code == fetch.ErrNotRetrievable && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%d: %s: %v, want one matching errors.ErrUnsupported", i, tt.path, err)
		}
	}
}

// TestAnnouncementsOfWebDAV checks the responses to OPTIONS after which a page is listed.
func TestAnnouncementsOfWebDAV(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options func(http.ResponseWriter, *http.Request)
		code    fetch.Code
	}{
		"no class":      {func(w http.ResponseWriter, _ *http.Request) {}, fetch.ErrNotRetrievable},
		"other classes": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("DAV", "<1>, 10, extended") }, fetch.ErrNotRetrievable},
		"not allowed":   {methodNotAllowed, fetch.ErrNotRetrievable},
		"not found":     {http.NotFound, fetch.ErrNotRetrievable},
		"busy":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, fetch.ErrBusy},
		"a login":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, fetch.ErrAuth},
		"class 1":       {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("DAV", "1,2") }, ""},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/d/" && r.URL.RawQuery == "" {
				http.Redirect(w, r, "/d/?x", http.StatusTemporaryRedirect)
			}
			w.Header().Set("DAV", "1")
		}, ""},
	} {
		s := &share{get: methodNotAllowed}
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodOptions {
				tt.options(w, r)
				return
			}
			s.ServeHTTP(w, r)
		})
		entries, err := drive.List(t, newClient(t, nil, urlhttp.Options{}), base+"/d/")
		if fetch.CodeOf(err) != tt.code || tt.code == "" && len(entries) != 2 {
			t.Errorf("%s: %v, %v, want class %q", name, entries, err, tt.code)
		}
	}
}

func TestRedirectsOfWebDAVKeepTheScheme(t *testing.T) {
	t.Parallel()
	s := &share{get: methodNotAllowed}
	base := serve(t, s.ServeHTTP)
	moved := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, base+strings.TrimPrefix(r.URL.Path, "/old"), http.StatusFound)
	})
	for _, scheme := range []string{"dav", "webdav"} {
		c := newClient(t, nil, urlhttp.Options{})
		from, to := strings.Replace(moved, "http", scheme, 1), strings.Replace(base, "http", scheme, 1)
		resp, err := c.Get(t.Context(), from+"/old/d/")
		if err != nil || resp.URL.String() != to+"/d/" || len(entriesOf(t, resp)) != 2 {
			t.Fatalf("%s: %v, %v", scheme, resp, err)
		}
		resp.Body.Close()
		if got, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(from + "/old/d/a")}); err != nil || got != "content" || resp.URL.String() != to+"/d/a" {
			t.Errorf("%s: %q, %v", scheme, got, err)
		}
	}
}

// TestLoginsOfWebDAV checks that a login is sent for listings and files, and not for a link of another
// origin.
func TestLoginsOfWebDAV(t *testing.T) {
	t.Parallel()
	s := &share{get: methodNotAllowed, auth: func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "me" && password == "x"
	}}
	base := overDAV(serve(t, s.ServeHTTP))
	c := newClient(t, &fetch.Options{Credentials: drive.Credentials(fetch.Credential{User: "me", Password: "x"})}, urlhttp.Options{})
	if entries := drive.MustList(t, c, base+"/d/"); len(entries) != 2 {
		t.Errorf("%v", entries)
	}
	drive.Gets(t, c, base+"/d/a", "content")
	if got, want := s.takeLog(), []string{"PROPFIND /d/ 1", "PROPFIND /d/ 1", "GET /d/a"}; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	for _, path := range []string{"/d/", "/d/a"} {
		anonymous := &fetch.Request{URL: uri.MustParse(base + path), Anonymous: true}
		if _, _, err := drive.Do(t, c, anonymous); fetch.CodeOf(err) != fetch.ErrAuth {
			t.Errorf("anonymous %s: %v, want %s", path, err, fetch.ErrAuth)
		}
	}
}

// TestLostConnectionsOfWebDAV closes idle connections: the request for a listing is sent again.
func TestLostConnectionsOfWebDAV(t *testing.T) {
	t.Parallel()
	s := &share{get: methodNotAllowed}
	srv := newServer(t, s, "")
	c := newClient(t, nil, urlhttp.Options{})
	for range 3 {
		if entries := drive.MustList(t, c, overDAV(srv.URL)+"/d/"); len(entries) != 2 {
			t.Errorf("%v", entries)
		}
		srv.CloseClientConnections()
	}
}

// TestCallersMaySendPropfind sends requests for listings like any other method.
func TestCallersMaySendPropfind(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q", r.Method, r.Header.Get("Depth"), body)
	})
	c := newClient(t, nil, urlhttp.Options{})
	for _, body := range []string{"", "<propfind/>"} {
		req := &fetch.Request{URL: uri.MustParse(base), Method: "PROPFIND", Header: textproto.MIMEHeader{"Depth": {"1"}}}
		if body != "" {
			req.Body = io.NopCloser(strings.NewReader(body))
		}
		if got, _, err := drive.Do(t, c, req); err != nil || got != fmt.Sprintf("PROPFIND 1 %q", body) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestWebDAVOfHostsThatWantTLS(t *testing.T) {
	t.Parallel()
	site := startHSTS(t, "http/1.1", "max-age=600")
	c := newClient(t, site.opts, urlhttp.Options{HSTS: &hsts.Store{}})
	drive.MustGet(t, c, "davs://example.com/a")
	resp, err := c.Get(t.Context(), "dav://example.com/b")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.URL.String(); got != "davs://example.com/b" {
		t.Errorf("retrieved from %s", got)
	}
}

func TestExplainWebDAV(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{})
	find := "PROPFIND %s HTTP/1.1; Host: h; Accept: */*; Accept-Encoding: identity; Content-Type: application/xml; charset=utf-8; Depth: 1; User-Agent: urlget; Content-Length: 166"
	fetchtest.RunExplain(t, c, map[string]string{
		"dav://joe:x@h/d/":  fmt.Sprintf(find, "/d/"),
		"davs://h":          fmt.Sprintf(find, "/"),
		"webdav://h/d/?x#y": fmt.Sprintf(find, "/d/?x"),
		"webdavs://h/d":     "GET /d HTTP/1.1; Host: h; Accept: */*; Accept-Encoding: identity; User-Agent: urlget",
	})
	for url, want := range map[string]string{"http://h/d/": "OPTIONS /d/ HTTP/1.1,PROPFIND /d/ HTTP/1.1", "dav://h/d": "PROPFIND /d HTTP/1.1"} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(url), Op: fetch.OpList})
		if err != nil {
			t.Fatal(err)
		}
		steps := slices.DeleteFunc(x.Steps, func(s string) bool { return !strings.HasSuffix(s, " HTTP/1.1") })
		if got := strings.Join(steps, ","); got != want {
			t.Errorf("list %s: %s, want %s", url, got, want)
		}
	}
}
