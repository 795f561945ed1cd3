package serve_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/serve"
)

var action = regexp.MustCompile(`<form action="([^"]*)" method="post"`)

// submit sends a form from a frame as a browser does: without an origin and a cookie.
func (u *user) submit(frame page, kind, body string, fields ...string) page {
	u.t.Helper()
	m := action.FindStringSubmatch(frame.text)
	if m == nil {
		u.t.Fatalf("no form can be sent on\n%s", frame.text)
	}
	return u.submitTo(html.UnescapeString(m[1]), kind, body, fields...)
}

func (u *user) submitTo(ref, kind, body string, fields ...string) page {
	u.t.Helper()
	r := u.request(http.MethodPost, ref, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Origin", "null")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	bare := *u.http // only the redirect target gets the cookie
	bare.Jar = nil
	bare.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := bare.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer resp.Body.Close()
	if to := resp.Header.Get("Location"); to != "" {
		return u.get(to)
	}
	text, _ := io.ReadAll(resp.Body)
	return page{resp.StatusCode, resp.Header, string(text), ref}
}

const coded = "application/x-www-form-urlencoded"

// mirror serves a page with a form, and echoes requests.
func mirror(t *testing.T, form string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, form)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _, login := r.BasicAuth()
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s|%s|%s|%v|%s\n", r.Method, r.URL, r.Header.Get("Content-Type"), body, login, r.Header.Get("Referer"))
	}))
	t.Cleanup(s.Close)
	return s
}

func (u *user) frame(rawURL string) page {
	u.t.Helper()
	return u.get(u.open(rawURL).find(u.t, "/content?"))
}

func TestFormsOfPagesAreSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ form, kind, answers, want string }{
		{`<form action=/find?old=1#x>`, coded, "q=a+b%26&q=%e4&z=1", "GET /find?q=a&#43;b%26&amp;q=%e4&amp;z=1||"},
		{`<form action=/send?x=1 method=post>`, coded, "b=2&a=%e4", "POST /send?x=1|" + coded + "|b=2&amp;a=%e4|"},
		{`<form action=/send method=POST enctype=multipart/form-data>`, "multipart/form-data; boundary=x", "--x\r\n\r\nfile\r\n--x--\r\n",
			"POST /send|multipart/form-data; boundary=x|--x\r\n\r\nfile\r\n--x--\r\n|"},
	} {
		s := mirror(t, tt.form)
		u := start(t)
		p := u.submit(u.frame(s.URL), tt.kind, tt.answers)
		p.want(t, http.StatusOK)
		if text := strings.ReplaceAll(p.text, "\r", ""); !strings.Contains(text, strings.ReplaceAll(tt.want, "\r", "")+"") {
			t.Errorf("%s: there is no %q in\n%s", tt.form, tt.want, p.text)
		}
		p.without(t, "|true|")
	}
}

// TestFormsAreSentOnce reloads the cached response and the page. Neither sends the form again.
func TestFormsAreSentOnce(t *testing.T) {
	t.Parallel()
	sent := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.Method == http.MethodPost {
			sent++
		}
		io.WriteString(w, `<form method=post action=/send><p>The answer to `+r.Method)
	}))
	t.Cleanup(s.Close)
	u := start(t)
	p := u.submit(u.frame(s.URL), coded, "a=1")
	u.get(p.find(t, "/content?")).want(t, http.StatusOK, "The answer to POST")
	u.get(p.url).want(t, http.StatusGone, "does not send a form twice", "Back to the form")
	link, err := url.Parse(p.find(t, "/content?"))
	if err != nil {
		t.Fatal(err)
	}
	q := link.Query()
	q.Set("k", "gone")
	u.get("/content?"+q.Encode()).want(t, http.StatusGone)
	if sent != 1 {
		t.Errorf("it was sent %d times", sent)
	}
}

// TestFormsAreSentWithoutLogins submits a form of a page that required a login.
func TestFormsAreSentWithoutLogins(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"get", "post"} {
		s := mirror(t, `<form action=/send method=`+method+`>`)
		u := start(t)
		p := u.submit(u.frame("http://alice:hunter2@"+s.Listener.Addr().String()+"/"), coded, "a=1")
		p.want(t, http.StatusOK, "|false|")
		u.serve.Foreign = nil
		u.submit(u.frame(s.URL), coded, "a=1").want(t, http.StatusForbidden, "refused by policy")
	}
}

func TestUnsignedFormsAreNotSent(t *testing.T) {
	t.Parallel()
	s := mirror(t, `<a href=/x>x</a><form action=/send method=post>`)
	u := start(t)
	frame := u.frame(s.URL)
	ref := html.UnescapeString(action.FindStringSubmatch(frame.text)[1])
	u.submitTo(strings.Replace(ref, "send", "other", 1), coded, "a=1").want(t, http.StatusForbidden)
	u.submitTo("/submit?m=post&u="+url.QueryEscape(s.URL), coded, "a=1").want(t, http.StatusForbidden)
	typed, err := url.Parse(u.open(s.URL + "/").url) // a link to a URL that the user entered
	if err != nil {
		t.Fatal(err)
	}
	u.submitTo("/submit?m=post&"+typed.RawQuery, coded, "a=1").want(t, http.StatusForbidden)
	u.submitTo(ref, coded, "a=1", "Sec-Fetch-Dest", "image").want(t, http.StatusForbidden)
	u.submitTo(ref, "application/json", "{}").want(t, http.StatusUnsupportedMediaType)
	u.submitTo(ref, coded, strings.Repeat("x", 1<<20+1)).want(t, http.StatusRequestEntityTooLarge)
	link, _ := url.Parse(ref)
	u.get("/sent?"+link.RawQuery+"&k=guess").want(t, http.StatusGone)
	u.http.Jar = nil
	u.submitTo(ref, coded, "a=1").want(t, http.StatusForbidden, "token") // only the user gets the response
}

// TestPolicyHoldsForForms submits forms of a public page to private addresses and to servers of
// other protocols.
func TestPolicyHoldsForForms(t *testing.T) {
	t.Parallel()
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }))
	t.Cleanup(private.Close)
	for _, method := range []string{"get", "post"} {
		public := mirror(t, `<form action="`+private.URL+`" method=`+method+`>`)
		u := start(t, servePublic(public))
		u.submit(u.frame("http://192.0.2.1/"), coded, "a=1").want(t, http.StatusForbidden, "private address")
	}
	for _, to := range []string{"file:///etc/passwd", "javascript:alert(1)", "mailto:a@h.example", "gopher://h.example/"} {
		u := start(t, func(*serve.Options, *fetch.Options) {})
		u.frame(mirror(t, `<form action="`+to+`" method=post><button>b</button></form>`).URL).without(t, "action=", to)
	}
}
