package serve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/serve"
)

const (
	script  = `<script>alert(1)</script>`
	handler = `"><img src=x onerror=alert(1)>`
)

// web serves a page from an untrusted server.
func web(t *testing.T, contentType, text string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestScriptInTextIsEscaped(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Text: true, Tree: fstest.MapFS{"a.txt": {Data: []byte("hello " + script + handler + "\n")},
		handler + ".txt": {Data: []byte("x")}}})
	u := start(t)
	for _, rest := range []string{"/0/a.txt", "/1/"} {
		p := u.open("gopher://" + g.Addr + rest)
		p.want(t, http.StatusOK, "alert(1)")
		p.without(t, script, "<img src=x")
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("policy: %s", csp)
		}
	}
}

func TestScriptInNamesIsEscaped(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{handler: {Data: []byte("x")}, "it's <b>.txt": {Data: []byte("x")}}})
	u := start(t)
	for _, layout := range []string{"", "&layout=menu", "&layout=list", "&sort=name", "&q=alert"} {
		p := u.open("ftp://" + f.Addr + "/")
		p = u.get(p.url + layout)
		p.want(t, http.StatusOK, "alert(1)")
		p.without(t, "<img src=x", "<b>")
	}
	// The error page repeats the user's input.
	p := u.open("ftp://" + f.Addr + "/<script>alert(1)</script>")
	p.without(t, "<script>alert")
	p = u.get("/view?u=" + url.QueryEscape("javascript:alert(1)//"+handler) + "&s=no")
	p.without(t, "<img src=x", `href="javascript:`)
}

func TestUntrustedPagesAreSandboxed(t *testing.T) {
	t.Parallel()
	s := web(t, "text/html", script+`<a href="javascript:alert(1)">a</a><a href=/next>next</a><img src=/pic.png><form action=/x></form>`)
	u := start(t)
	p := u.open(s.URL)
	p.want(t, http.StatusOK, `<iframe class="document" sandbox="allow-forms allow-top-navigation-by-user-activation"`)
	p.without(t, script, "javascript:")
	frame := u.get(p.find(t, "/content?"))
	policy := frame.header.Get("Content-Security-Policy")
	for _, part := range []string{"sandbox allow-forms allow-top-navigation-by-user-activation;", "default-src 'none'", "form-action " + u.server.URL + ";",
		"img-src " + u.server.URL + "/content data:"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy of the frame has no %q: %s", part, policy)
		}
	}
	for _, part := range []string{"allow-scripts", "allow-same-origin", "script-src"} {
		if strings.Contains(policy, part) {
			t.Errorf("the policy of the frame has %q: %s", part, policy)
		}
	}
	if frame.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("types may be guessed")
	}
	frame.without(t, `href="javascript:`, s.URL+`"`, `action="/x`)
	u.get(frame.find(t, "/view?", "javascript:")).want(t, http.StatusForbidden, "refused by policy")
	u.get(frame.find(t, "/view?", "/next")).want(t, http.StatusOK)
}

func TestUnknownHostNamesAreRefused(t *testing.T) {
	t.Parallel()
	u := start(t)
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""} {
		r := u.request(http.MethodGet, "/", nil)
		r.Host = host
		if host == "" {
			r.Host = "x.invalid"
		}
		u.do(r).want(t, http.StatusMisdirectedRequest)
	}
}

func TestRequestsWithoutATokenAreRefused(t *testing.T) {
	t.Parallel()
	u := start(t)
	page := u.open(write(t, "a.txt", "secret"))
	page.want(t, http.StatusOK, "secret")
	u.http.Jar = nil
	for _, ref := range []string{"/", "/?token=", "/?token=wrong", page.url, strings.Replace(page.url, "/view", "/download", 1), "/history", "/archive", "/archive/text?words=a", "/queue"} {
		p := u.get(ref)
		p.want(t, http.StatusForbidden)
		p.without(t, "secret")
	}
	r := u.request(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: "urlget-" + r.URL.Port(), Value: "wrong"})
	u.do(r).want(t, http.StatusForbidden)
}

// TestOneTimeAddressWorksOnce checks that other users of the machine, who see the browser's
// arguments in the process list, cannot use the address a second time.
func TestOneTimeAddressWorksOnce(t *testing.T) {
	t.Parallel()
	u := start(t)
	host := strings.TrimPrefix(u.server.URL, "http://")
	address, another := u.serve.AddressOnce(host), u.serve.AddressOnce(host)
	if address == another || strings.Contains(address, u.serve.Token) {
		t.Fatalf("%s and %s", address, another)
	}
	first := u.http.Jar
	jar := func() http.CookieJar {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return jar
	}
	u.http.Jar = jar()
	page := u.get(address)
	page.want(t, http.StatusOK)
	if page.url != u.server.URL+"/" {
		t.Errorf("the token is left in the address: %s", page.url)
	}
	u.get("/history").want(t, http.StatusOK) // the response has set the cookie
	u.get(address).want(t, http.StatusOK)    // the cookie identifies the user
	u.http.Jar = jar()
	u.get(address).want(t, http.StatusForbidden, "works only once")
	u.get("/history").want(t, http.StatusForbidden)
	u.http.Jar = nil
	r := u.request(http.MethodHead, another, nil) // as sent by a link preview
	u.do(r).want(t, http.StatusForbidden)
	u.http.Jar = first
	u.get(another).want(t, http.StatusOK)
	u.http.Jar = jar()
	u.get(another).want(t, http.StatusOK) // a request with a cookie does not consume the token
	u.get(u.serve.Address(host)).want(t, http.StatusOK)
}

func TestOtherPagesCannotPost(t *testing.T) {
	t.Parallel()
	u := start(t)
	file := write(t, "a.txt", "secret")
	for _, origin := range []string{"", "null", "http://evil.example", "http://127.0.0.1:1", strings.Replace(u.server.URL, "http:", "https:", 1)} {
		for _, path := range []string{"/go", "/form", "/login", "/bookmark", "/unbookmark", "/forget"} {
			r := u.request(http.MethodPost, path, strings.NewReader(url.Values{"url": {file}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			u.do(r).want(t, http.StatusForbidden)
		}
	}
	// With "no-referrer", browsers would send "null" from our own pages too.
	if policy := u.get("/").header.Get("Referrer-Policy"); policy != "same-origin" {
		t.Errorf("Referrer-Policy: %s", policy)
	}
	r := u.request(http.MethodPost, "/go", strings.NewReader(url.Values{"url": {file}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", u.server.URL)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	u.do(r).want(t, http.StatusForbidden)
}

func TestUnsignedLinksRetrieveNothing(t *testing.T) {
	t.Parallel()
	u := start(t)
	file := write(t, "a.txt", "secret")
	q := url.Values{"u": {file}}
	for _, sig := range []string{"", "AAAAAAAAAAAAAAAAAAAAAA"} {
		q.Set("s", sig)
		for _, path := range []string{"/view", "/content", "/download", "/search"} {
			p := u.get(path + "?" + q.Encode())
			p.want(t, http.StatusForbidden)
			p.without(t, "secret")
		}
	}
	// A signature is valid for one URL and one referrer.
	s := web(t, "text/html", "<a href=/x>x</a>")
	frame := u.get(u.open(s.URL).find(t, "/content?"))
	link, err := url.Parse(frame.find(t, "/view?", "/x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(url.Values){
		func(q url.Values) { q.Set("u", file) },
		func(q url.Values) { q.Del("f") },
		func(q url.Values) { q.Set("x", "1") },
		func(q url.Values) { q.Set("f", "file:///") },
	} {
		q := link.Query()
		change(q)
		u.get("/view?"+q.Encode()).want(t, http.StatusForbidden)
	}
}

func TestPagesCannotReachFiles(t *testing.T) {
	t.Parallel()
	file := write(t, "passwd", "root:x:0:0")
	s := web(t, "text/html", `<img src="`+file+`"><a href="`+file+`">a</a><iframe src="`+file+`"></iframe>`+
		`<style>p { background: url(`+file+`) }</style><img srcset="`+file+` 2x">`)
	u := start(t)
	frame := u.get(u.open(s.URL).find(t, "/content?"))
	frame.without(t, `"file:`, "(file:")
	for _, path := range []string{"/content?", "/view?"} {
		p := u.get(frame.find(t, path, file))
		p.want(t, http.StatusForbidden, "may not lead to local")
		p.without(t, "root:x")
	}
	// A file URL that the user entered is shown.
	u.open(file).want(t, http.StatusOK, "root:x")
}

// TestPagesCannotReachPrivateAddresses follows links and a redirect from a public host to loopback.
func TestPagesCannotReachPrivateAddresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		io.WriteString(w, "private")
	}))
	t.Cleanup(private.Close)
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, private.URL, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<img src="`+private.URL+`/img"><a href="`+private.URL+`/link">a</a>`)
	}))
	t.Cleanup(public.Close)
	u := start(t, servePublic(public))
	frame := u.get(u.open("http://192.0.2.1/").find(t, "/content?"))
	for _, path := range []string{"/content?", "/view?"} {
		u.get(frame.find(t, path, private.URL)).want(t, http.StatusForbidden, "private address")
	}
	u.open("http://192.0.2.1/redirect").want(t, http.StatusForbidden, "private address")
	if n := asked.Load(); n != 0 {
		t.Errorf("the private server was asked %d times", n)
	}
}

// TestPrivatePagesReachPrivateHosts checks that a page on a private host can show an image from
// another port of that host. A public page cannot, even after that visit.
func TestPrivatePagesReachPrivateHosts(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "pixels")
	}))
	t.Cleanup(images.Close)
	_, imagePort, _ := net.SplitHostPort(images.Listener.Addr().String())
	image := "http://vm:" + imagePort + "/i.png"
	pages := web(t, "text/html", `<img src="`+image+`">`)
	_, pagePort, _ := net.SplitHostPort(pages.Listener.Addr().String())
	loopback := netip.MustParseAddr("127.0.0.1")
	u := start(t, servePublic(pages), func(_ *serve.Options, o *fetch.Options) {
		o.Network.Hosts = map[string]netip.Addr{"vm:" + pagePort: loopback, "vm:" + imagePort: loopback}
	})
	public := u.get(u.open("http://192.0.2.1/").find(t, "/content?")).find(t, "/content?", image)
	u.get(public).want(t, http.StatusForbidden, "private address")
	frame := u.get(u.open("http://vm:"+pagePort+"/").find(t, "/content?"))
	u.get(frame.find(t, "/content?", image)).want(t, http.StatusOK, "pixels")
	u.get(public).want(t, http.StatusForbidden, "private address")
	if n := asked.Load(); n != 1 {
		t.Errorf("the private server was asked %d times, want once", n)
	}
}

// TestCredentialsAreTheUsers checks that a login is offered for entered URLs and not for links.
func TestCredentialsAreTheUsers(t *testing.T) {
	t.Parallel()
	var logins atomic.Int32
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		logins.Add(1)
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/inner">inner</a>`)
	}))
	t.Cleanup(guarded.Close)
	s := web(t, "text/html", `<a href="`+guarded.URL+`/x">x</a>`)
	u := start(t)
	password := "hunter2"
	p := u.open("http://alice:" + password + "@" + guarded.Listener.Addr().String() + "/")
	p.want(t, http.StatusOK, "iframe")
	p.without(t, password)
	if strings.Contains(p.url, password) {
		t.Errorf("the password is in %s", p.url)
	}
	if logins.Load() == 0 {
		t.Fatal("the user was not logged in")
	}
	inner := u.get(p.find(t, "/content?")).find(t, "/view?", "/inner")
	u.get(inner).want(t, http.StatusOK, "iframe") // linked from the page that the user entered
	before := logins.Load()
	frame := u.get(u.open(s.URL).find(t, "/content?"))
	u.get(frame.find(t, "/view?", "/x")).want(t, http.StatusForbidden, "authentication failed")
	if logins.Load() != before {
		t.Error("a page led to where the user's login was used")
	}
}

// TestLoginsAreNotLaundered follows a link from a foreign page to the user's server, and then a link
// on that server. The second link does not use the login, although its origin is the same.
func TestLoginsAreNotLaundered(t *testing.T) {
	t.Parallel()
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok && r.URL.Path != "/open" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/inner">inner</a>`)
	}))
	t.Cleanup(mine.Close)
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, mine.URL+"/open", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="`+mine.URL+`/open">open</a>`)
	}))
	t.Cleanup(moved.Close)
	u := start(t)
	u.open("http://alice:hunter2@"+mine.Listener.Addr().String()+"/").want(t, http.StatusOK)
	theirs := u.get(u.open(moved.URL+"/").find(t, "/content?")).find(t, "/view?", "/open")
	for _, page := range []page{u.get(theirs), u.open(moved.URL + "/moved")} {
		page.want(t, http.StatusOK)
		inner := u.get(page.find(t, "/content?")).find(t, "/view?", "/inner")
		u.get(inner).want(t, http.StatusForbidden, "authentication failed")
		// The same holds if the frame is no longer cached.
		link, err := url.Parse(page.find(t, "/content?"))
		if err != nil {
			t.Fatal(err)
		}
		q := link.Query()
		q.Del("k")
		inner = u.get("/content?"+q.Encode()).find(t, "/view?", "/inner")
		u.get(inner).want(t, http.StatusForbidden, "authentication failed")
	}
}

func TestNamesCannotReverseTextDirection(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Items: map[string][]string{"/": {"0exe\u202Etxt.\t/x\t$HOST\t$PORT", "itext\u202E\t\t$HOST\t$PORT"}},
		Tree: fstest.MapFS{"x": {Data: []byte("one\u202Etwo\x1b[31m\n")}}, Text: true})
	u := start(t)
	for _, rest := range []string{"/1/", "/0/x"} {
		p := u.open(g.URL + rest)
		p.want(t, http.StatusOK, `\u202e`)
		p.without(t, "\u202E", "\x1b")
	}
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"exe\u202Etxt.": {Data: []byte("x")}}})
	p := u.open("ftp://" + f.Addr + "/")
	p.want(t, http.StatusOK, `exe\u202etxt.`)
	p.without(t, "\u202E")
}

// TestListingsBehindRedirectsAreForeign follows a redirect of an untrusted server to a listing. The
// links of the listing are not trusted.
func TestListingsBehindRedirectsAreForeign(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a.txt": {Data: []byte("x")}}})
	moved := httptest.NewServer(http.RedirectHandler("ftp://"+f.Addr+"/", http.StatusFound))
	t.Cleanup(moved.Close)
	u := start(t)
	u.open(moved.URL).find(t, "/view?", "a.txt", "&x=1")
	if link := u.open("ftp://"+f.Addr+"/").find(t, "/view?", "a.txt"); strings.Contains(link, "&x=1") {
		t.Errorf("the user's own listing leads to %s", link)
	}
}

func TestForeignLinksNeedAForeignClient(t *testing.T) {
	t.Parallel()
	other := web(t, "text/plain", "other")
	s := web(t, "text/html", `<a href="`+other.URL+`/x">x</a>`)
	u := start(t)
	u.serve.Foreign = nil
	frame := u.get(u.open(s.URL).find(t, "/content?"))
	u.get(frame.find(t, "/view?", "/x")).want(t, http.StatusForbidden, "refused by policy")
}

// servePublic runs a server at http://192.0.2.1/.
func servePublic(s *httptest.Server) func(*serve.Options, *fetch.Options) {
	return func(_ *serve.Options, o *fetch.Options) {
		o.DialContext = dialLocal(netip.MustParseAddrPort("192.0.2.1:80"), s.Listener.Addr())
	}
}

// blockingDialer returns a dialer that blocks until it is canceled. It reports its start and its end.
func blockingDialer(begun, ended chan<- struct{}) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil, context.Cause(ctx)
	}
}

// dialLocal returns a dialer that connects to a local server in place of an address.
func dialLocal(there netip.AddrPort, truth net.Addr) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		if addr != there.String() {
			return d.DialContext(ctx, network, addr)
		}
		c, err := d.DialContext(ctx, network, truth.String())
		if err != nil {
			return nil, err
		}
		return peerConn{c, net.TCPAddrFromAddrPort(there)}, nil
	}
}

// A peerConn is a connection that reports a different peer address.
type peerConn struct {
	net.Conn
	peer net.Addr
}

func (e peerConn) RemoteAddr() net.Addr { return e.peer }

// TestSavedPagesReachNoPrivatePlace checks that a page in a local file, which may have been saved from a
// server, loads nothing from private addresses, and no file outside of its directory or the served one.
func TestSavedPagesReachNoPrivatePlace(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(private.Close)
	root := t.TempDir()
	files := map[string]string{
		"site/page.html": `<img src="` + private.URL + `/x.png"><iframe src="../../secret.html"></iframe><iframe src="file:///etc/passwd"></iframe>
<img src="sub/own.png"><img src="../shared.png"><img src="%2e%2e/%2e%2e/secret.png">`,
		"site/sub/own.png": "png", "shared.png": "png",
	}
	for name, text := range files {
		name = filepath.Join(root, "tree", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree := "file://" + filepath.Join(root, "tree")
	for _, served := range []bool{false, true} {
		u := start(t, func(o *serve.Options, _ *fetch.Options) {
			if served {
				o.Start = uri.MustParse(tree + "/")
			}
		})
		frame := u.get(u.open(tree+"/site/page.html").find(t, "/content?"))
		u.get(frame.find(t, "/content?", "own.png")).want(t, http.StatusOK)
		frame.without(t, "secret", "passwd")
		if shared := strings.Contains(frame.text, "shared.png"); shared != served {
			t.Errorf("a file beside the directory of the page is referred to: %v, want %v", shared, served)
		}
		u.get(frame.find(t, "/content?", "x.png")).want(t, http.StatusForbidden, "refused by policy")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests to a private address", n)
	}
}
