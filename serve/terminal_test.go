package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// withSessions enables sessions on pages.
func withSessions(t *testing.T) func(*serve.Options, *fetch.Options) {
	return func(s *serve.Options, o *fetch.Options) {
		policy := fetch.Policy{AllowSessions: true}
		if o.Policy != nil {
			policy = *o.Policy
			policy.AllowSessions = true
		}
		s.Sessions = fetch.New(&fetch.Options{Policy: &policy, DialContext: o.DialContext, Timeouts: fetch.Timeouts{Idle: -1}}, protocols.All)
		t.Cleanup(func() { s.Sessions.Close() })
	}
}

var (
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	ticket = regexp.MustCompile(`data-ticket="([^"]*)"`)
)

// connect clicks the button of a session page.
func (u *user) connect(offer page) page {
	u.t.Helper()
	_, form, ok := strings.Cut(offer.text, `action="/session"`)
	if !ok {
		u.t.Fatalf("no session is offered on\n%s", offer.text)
	}
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(m[1], strings.ReplaceAll(m[2], "&#43;", "+"))
	}
	return u.post("/session", values)
}

// ticketOf returns the ticket of a terminal page.
func (p page) ticketOf(t *testing.T) string {
	t.Helper()
	m := ticket.FindStringSubmatch(p.text)
	if m == nil {
		t.Fatalf("no terminal on\n%s", p.text)
	}
	return m[1]
}

// A screen acts as the script of a terminal page.
type screen struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

// dial opens a session as the script of a page does, with additional header fields.
func (u *user) dial(id string, fields ...string) (*screen, *http.Response, error) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	u.t.Cleanup(cancel)
	h := http.Header{"Origin": {u.server.URL}}
	for i := 0; i+1 < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
		if fields[i+1] == "" {
			h.Del(fields[i])
		}
	}
	opts := &websocket.DialOptions{HTTPClient: u.http, HTTPHeader: h}
	if host := h.Get("Host"); host != "" {
		opts.Host = host
	}
	conn, resp, err := websocket.Dial(ctx, u.server.URL+"/terminal?ticket="+url.QueryEscape(id), opts)
	if err != nil {
		return nil, resp, err
	}
	u.t.Cleanup(func() { conn.CloseNow() })
	return &screen{u.t, ctx, conn}, resp, nil
}

// refused checks that the session is refused with a status.
func (u *user) refused(status int, id string, fields ...string) {
	u.t.Helper()
	_, resp, err := u.dial(id, fields...)
	switch {
	case err == nil:
		u.t.Errorf("ticket %q, %q: a session began", id, fields)
	case resp == nil || resp.StatusCode != status:
		u.t.Errorf("ticket %q, %q: %v, want %d", id, fields, err, status)
	}
}

// begin opens a session with a screen of 80 columns.
func (u *user) begin(offer page) *screen {
	u.t.Helper()
	s, _, err := u.dial(u.connect(offer).ticketOf(u.t))
	if err != nil {
		u.t.Fatal(err)
	}
	s.say(websocket.MessageText, `{"columns":80,"rows":24}`)
	return s
}

func (s *screen) say(kind websocket.MessageType, text string) {
	s.t.Helper()
	if err := s.conn.Write(s.ctx, kind, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// until reads output until it contains a text or, if text is "", until the session ends. It returns
// the output and the reason for the end.
func (s *screen) until(text string) (shown, closed string) {
	s.t.Helper()
	for text == "" || !strings.Contains(shown, text) {
		kind, message, err := s.conn.Read(s.ctx)
		if err != nil {
			s.t.Fatalf("after %q: %v", shown, err)
		}
		var n struct{ Open, Status, Closed string }
		switch {
		case kind == websocket.MessageBinary:
			shown += string(message)
		case json.Unmarshal(message, &n) != nil:
			s.t.Fatalf("%q is no notice", message)
		case n.Closed != "":
			if text != "" {
				s.t.Fatalf("it was over after %q: %s", shown, n.Closed)
			}
			return shown, n.Closed
		default:
			shown += n.Status
		}
	}
	return shown, ""
}

func TestSessions(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{})
	u := start(t, withSessions(t))
	offer := u.open("telnet://alice:hunter2@" + host.Addr + "/")
	offer.want(t, http.StatusOK, "Connect to "+host.Addr, "suggests the user name alice")
	offer.without(t, "hunter2", "data-ticket", "/download?")
	terminal := u.connect(offer)
	terminal.want(t, http.StatusOK, `aria-label="Type to `+host.Addr+`"`)
	policy := terminal.header.Get("Content-Security-Policy")
	files := u.server.URL + strings.TrimSuffix(terminal.find(t, "/terminal.js"), "terminal.js")
	for _, part := range []string{"default-src 'none'", "connect-src ws" + strings.TrimPrefix(u.server.URL, "http") + "/terminal;",
		"script-src " + files + "terminal.js " + files + "screen.js " + files + "app.js;"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy has no %q: %s", part, policy)
		}
	}
	if policy := offer.header.Get("Content-Security-Policy"); strings.Contains(policy, "connect-src") {
		t.Errorf("a page without a terminal may connect: %s", policy)
	}
	s := u.begin(offer)
	s.until("login: ")
	s.say(websocket.MessageBinary, "bob\r")
	s.until("Hello, bob.")
	s.say(websocket.MessageText, `{"columns":100,"rows":30}`)
	s.say(websocket.MessageText, `{"status":true}`)
	s.until("negotiates no telnet options")
	s.say(websocket.MessageText, `{"rows":-5}`)
	s.say(websocket.MessageText, `nonsense`)
	s.say(websocket.MessageBinary, "exit\r")
	if _, why := s.until(""); why != "the server closed the connection" {
		t.Errorf("it was over because %s", why)
	}
	if _, _, err := s.conn.Read(s.ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("it ended with %v", err)
	}
}

func TestSessionsAreOffUnlessAllowed(t *testing.T) {
	t.Parallel()
	u := start(t)
	offer := u.open("telnet://127.0.0.1/")
	offer.want(t, http.StatusOK, "urlget serve --terminal", "urlget &#39;telnet://127.0.0.1/&#39;")
	offer.without(t, `action="/session"`)
	link, err := url.Parse(offer.url)
	if err != nil {
		t.Fatal(err)
	}
	p := u.post("/session", link.Query())
	p.want(t, http.StatusOK, "urlget serve --terminal")
	p.without(t, "data-ticket")
	u.refused(http.StatusForbidden, "x")
}

// TestForeignRequestsCannotOpenSessions sends the requests that other pages and programs could send.
func TestForeignRequestsCannotOpenSessions(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { t.Error("there was a session"); c.Close() }})
	u := start(t, withSessions(t))
	offer := u.open("telnet://" + host.Addr + "/")
	fresh := func() string { return u.connect(offer).ticketOf(t) }
	for _, fields := range map[string][]string{
		"no origin":      {"Origin", ""},
		"null":           {"Origin", "null"},
		"another origin": {"Origin", "http://evil.example"},
		"another port":   {"Origin", "http://127.0.0.1:1"},
		"another scheme": {"Origin", strings.Replace(u.server.URL, "http:", "https:", 1)},
		"another site":   {"Sec-Fetch-Site", "cross-site"},
		"the same site":  {"Sec-Fetch-Site", "same-site"}, // another port
		"another host":   {"Host", "evil.example"},
	} {
		status := http.StatusForbidden
		if fields[0] == "Host" {
			status = http.StatusMisdirectedRequest
		}
		u.refused(status, fresh(), fields...)
	}
	for _, id := range []string{"", "wrong"} {
		u.refused(http.StatusForbidden, id)
	}
	id := fresh()
	jar := u.http.Jar
	u.http.Jar = nil
	u.refused(http.StatusForbidden, id)
	u.post("/session", url.Values{}).want(t, http.StatusForbidden)
	u.http.Jar = jar
	// A form of another page, and an unsigned address.
	link, err := url.Parse(offer.url)
	if err != nil {
		t.Fatal(err)
	}
	r := u.request(http.MethodPost, "/session", strings.NewReader(link.RawQuery))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "null")
	u.do(r).want(t, http.StatusForbidden)
	q := link.Query()
	q.Set("s", "wrong")
	p := u.post("/session", q)
	p.want(t, http.StatusForbidden, "Nothing was retrieved")
	p.without(t, "data-ticket")
	if p := u.get("/session?" + link.RawQuery); p.status == http.StatusOK {
		t.Error("a link opens a terminal")
	}
}

// TestCommandsAreQuoted opens a URL with shell metacharacters.
func TestCommandsAreQuoted(t *testing.T) {
	t.Parallel()
	u := start(t)
	p := u.open("telnet://a';id;'@127.0.0.1/")
	p.want(t, http.StatusOK, "urlget &#39;telnet://a%27;id;%27@127.0.0.1/&#39;")
}

func TestTicketsWorkOnce(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{})
	u := start(t, withSessions(t))
	id := u.connect(u.open("telnet://" + host.Addr + "/")).ticketOf(t)
	if _, _, err := u.dial(id); err != nil {
		t.Fatal(err)
	}
	u.refused(http.StatusForbidden, id)
}

// TestPagesOpenNoSessions checks that resources that a browser loads without a click, and menus, do
// not open sessions, and that a link asks first.
func TestPagesOpenNoSessions(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { t.Error("there was a session"); c.Close() }})
	there := "telnet://" + host.Addr + "/"
	s := web(t, "text/html", `<img src="`+there+`"><iframe src="`+there+`"></iframe><a href="`+there+`">a</a>`)
	u := start(t, withSessions(t))
	frame := u.get(u.open(s.URL).find(t, "/content?"))
	u.get(frame.find(t, "/content?", there)).want(t, http.StatusForbidden)
	p := u.get(frame.find(t, "/view?", there))
	p.want(t, http.StatusOK, "Connect to 127.0.0.1", "Linked from "+s.URL+".")
	p.without(t, "data-ticket")
	u.get(strings.Replace(p.url, "/view?", "/download?", 1)).want(t, http.StatusForbidden)

	_, port, _ := strings.Cut(host.Addr, ":")
	g := gopherd.Start(t, gopherd.Options{Items: map[string][]string{"/": {"8A session\t\t127.0.0.1\t" + port}}})
	p = u.get(u.open(g.URL+"/1/").find(t, "/view?", "telnet:"))
	p.want(t, http.StatusOK, "Connect to 127.0.0.1", "Linked from")
}

// TestPolicyHoldsForSessions follows links from a public page to a session on loopback and to the
// port of another service. The confirmation does not bypass the policy.
func TestPolicyHoldsForSessions(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { t.Error("there was a session"); c.Close() }})
	for to, want := range map[string]string{
		"telnet://" + host.Addr + "/": "private address",
		"telnet://127.0.0.1/":         "private address",
		"telnet://192.0.2.7:25/":      "port 25",
	} {
		s := web(t, "text/html", `<a href="`+to+`">a</a>`)
		u := start(t, servePublic(s), withSessions(t))
		offer := u.get(u.get(u.open("http://192.0.2.1/").find(t, "/content?")).find(t, "/view?", to))
		if _, why := u.begin(offer).until(""); !strings.Contains(why, want) {
			t.Errorf("%s: %s", to, why)
		}
	}
}

func TestMessagesOfPagesAreBounded(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	host := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) {
		c.Send("hello")
		n, _ := c.Read(make([]byte, 10))
		if n > 0 {
			t.Error("the server was sent something")
		}
		close(gone)
	}})
	u := start(t, withSessions(t))
	s := u.begin(u.open("telnet://" + host.Addr + "/"))
	s.until("hello")
	s.say(websocket.MessageBinary, strings.Repeat("x", 33<<10))
	for {
		if _, _, err := s.conn.Read(s.ctx); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
				t.Errorf("it ended with %v", err)
			}
			break
		}
	}
	<-gone
}

// TestSessionsEndWithTheirPage closes pages while the server sends, while it is silent, and during
// the connection attempt.
func TestSessionsEndWithTheirPage(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	talks := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { c.Flood("y\r\n"); gone <- struct{}{} }})
	silent := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) {
		c.Send("hello")
		c.Read(make([]byte, 1))
		gone <- struct{}{}
	}})
	u := start(t, withSessions(t))
	for _, addr := range []string{talks.Addr, silent.Addr} {
		s := u.begin(u.open("telnet://" + addr + "/"))
		if addr == talks.Addr {
			s.until("y\r\n")
		} else {
			s.until("hello")
		}
		s.conn.CloseNow()
		<-gone
	}
	dialing, dropped := make(chan struct{}), make(chan struct{})
	u = start(t, func(_ *serve.Options, o *fetch.Options) { o.DialContext = blockingDialer(dialing, dropped) }, withSessions(t))
	s := u.begin(u.open("telnet://127.0.0.1/"))
	<-dialing
	s.conn.CloseNow()
	<-dropped
}

func TestSessionsAreLimited(t *testing.T) {
	t.Parallel()
	host := telnetd.Start(t, telnetd.Options{})
	u := start(t, withSessions(t))
	offer := u.open("telnet://" + host.Addr + "/")
	var all []*screen
	for range 8 {
		s := u.begin(offer)
		s.until("login: ")
		all = append(all, s)
	}
	if _, why := u.begin(offer).until(""); !strings.Contains(why, "8 sessions are already open") {
		t.Errorf("one too many: %s", why)
	}
	all[0].say(websocket.MessageBinary, "bob\rexit\r")
	all[0].until("")
	u.begin(offer).until("login: ")
}

func TestSessionsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	u := start(t, withSessions(t))
	gone := httptest.NewServer(nil)
	addr := gone.Listener.Addr().String()
	gone.Close()
	if _, why := u.begin(u.open("telnet://" + addr + "/")).until(""); !strings.Contains(why, "refused") {
		t.Errorf("it was over because %s", why)
	}
}
