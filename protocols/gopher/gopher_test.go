package gopher_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/protocols/gopher"
)

// serve replays a transcript and returns the URL prefix.
func serve(t testing.TB, name string) string {
	t.Helper()
	conv, err := transcript.Load("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return "gopher://" + transcript.Server(t, conv) + "/"
}

// play is like serve, for a transcript in the test.
func play(t testing.TB, script string) string {
	t.Helper()
	return "gopher://" + transcript.Play(t, script) + "/"
}

// reply starts a server that replies to one request.
func reply(t testing.TB, request, answer string) string {
	t.Helper()
	script := "-- connection --\nC" + strconv.Quote(request+"\r\n") + "\n"
	if answer != "" {
		script += "S" + strconv.Quote(answer) + "\n"
	}
	return play(t, script+"S!close\n")
}

// do performs req on a URL and reads the body.
func do(t testing.TB, c *fetch.Client, rawURL string, req fetch.Request) (string, *fetch.Response, error) {
	t.Helper()
	req.URL = uri.MustParse(rawURL)
	return drive.Do(t, c, &req)
}

func get(t testing.TB, rawURL string) (string, *fetch.Response, error) {
	return do(t, drive.Client(t, nil, gopher.Load), rawURL, fetch.Request{})
}

// TestExchanges replays replies of real servers.
func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path  string
		body, media string
		size        int64
	}{
		{"umn-plus", "00/hello.txt%09%09+", "Hello from the University of Minnesota\n", "text/plain", 39},
		{"umn-text", "00/dots.txt", ".leading\r\n..\r\nend\r\n", "text/plain", -1},
		{"umn-glued", "00/end.txt", "first\nend.\r\n", "text/plain", -1},
		{"gophernicus-plain", "0/hello.txt%09%09+", "Hello, gopher.\r\n", "text/plain", -1},
		{"moved", "0/old%09%09+", "here\r\n", "text/plain", 6},
		{"filled", "0form%09%09+%091%0D%0A+-1%0D%0Aone%0D%0Atwo%0D%0A.%0D%0A", "ok", "text/plain", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, resp, err := get(t, serve(t, tt.name)+tt.path)
			if err != nil {
				t.Fatal(err)
			}
			framing := fetch.FramedByProtocol
			if tt.size < 0 {
				framing = fetch.FramedByClose
			}
			if body != tt.body || resp.ContentType != tt.media || resp.Size != tt.size || resp.Framing != framing {
				t.Errorf("got %q, %s, size %d, framing %d", body, resp.ContentType, resp.Size, resp.Framing)
			}
		})
	}
}

func TestErrorReplies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path string
		code       fetch.Code
		reply      string
		retry      bool
	}{
		{"umn-error", "00/none%09%09+", fetch.ErrNotFound, "1 '/none' does not exist!!", false},
		{"umn-missing", "00/none", fetch.ErrNotFound, "'/none' does not exist!!", false},
		{"pygopherd-error", "0/nonexist%09%09+", fetch.ErrNotFound, "1 '/nonexist' does not exist (no handler found)", false},
		{"pygopherd-missing", "9/nonexist", fetch.ErrNotFound, "'/nonexist' does not exist (no handler found)", false},
		{"busy", "1/x%09%09+", fetch.ErrBusy, "2 Too many users.", true},
		{"nowhere", "0/old%09%09+", fetch.ErrRedirect, "3 Test Administrator <admin@example.org>", false},
		{"short", "9/x%09%09+", fetch.ErrTruncated, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := get(t, serve(t, tt.name)+tt.path)
			var fe *fetch.Error
			if !errors.As(err, &fe) || fe.Code != tt.code || fe.Reply.String() != tt.reply || fe.Retry != tt.retry {
				t.Errorf("error %v, want one of class %q with the reply %q", err, tt.code, tt.reply)
			}
		})
	}
}

// TestFinalDot tests the ways in which servers end texts (RFC 1436, section 3.8, requires
// ".\r\n").
func TestFinalDot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sent, text string }{
		{"", ""},
		{"a", "a"},
		{"a\r\n.\r\n", "a\r\n"},
		{"a\n.\n", "a\n"},
		{"a\n.", "a\n"},
		{".\r\n", ""},
		{".", ""},
		{".\r\n.\r\n.\r\n", ".\r\n.\r\n"},
		{".\n.\n.\n.", ".\n.\n.\n"},
		{"a\r\n.\r\nb\r\n", "a\r\n.\r\nb\r\n"},
		{"a\r\n.\r\nb", "a\r\n.\r\nb"},
		{"a\r\n..\r\n.\r\n", "a\r\n..\r\n"},
		{"a.\r\n", "a.\r\n"},
		{"a\r\n.\r", "a\r\n.\r"},
		{"a\r\n.\r\r\n", "a\r\n.\r\r\n"},
		{"a\r\n.\n\n", "a\r\n.\n\n"},
		{"a\r.\r\n", "a\r.\r\n"},
		{strings.Repeat(".\n", 70000), strings.Repeat(".\n", 69999)},
	} {
		body, _, err := get(t, reply(t, "/x", tt.sent)+"0/x")
		if err != nil || body != tt.text {
			t.Errorf("%.40q came as %.40q, %v", tt.sent, body, err)
		}
		if body, _, err = get(t, reply(t, "/x", tt.sent)+"9/x"); err != nil || body != tt.sent {
			t.Errorf("as a binary, %.40q came as %.40q, %v", tt.sent, body, err)
		}
	}
}

// TestHeaders tests replies that begin with a Gopher+ header or a similar line.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sent, body string }{
		{"+3\r\nabc", "abc"},
		{"+3\nabc", "abc"},
		{"+3\r\nabc\r\n.\r\n", "abc"},
		{"+0\r\n.\r\n", ""},
		{"+-1\r\nabc\r\n.\r\n\r\n", "abc\r\n"},
		{"+-1\r\nabc\n.", "abc\n"},
		{"+-2\r\nabc\r\n.\r\n", "abc\r\n"},
		{"+-3\r\nabc", "+-3\r\nabc"},
		{"+3 \r\nabc", "+3 \r\nabc"},
		{"++3\r\nabc", "++3\r\nabc"},
		{"-\r\n", "-\r\n"},
		{"plain", "plain"},
		{"", ""},
	} {
		body, _, err := get(t, reply(t, "/x\t+", tt.sent)+"0/x%09%09+")
		if err != nil || body != tt.body {
			t.Errorf("%q came as %q, %v, want %q", tt.sent, body, err, tt.body)
		}
	}
	// The end of the content is that of the connection: more is not cut off.
	for _, sent := range []string{"+3\r\nabcdef", "+3\r\nabc\r\n..\r\n", "+0\r\nabc", "+-1\r\nabc\r\n.\r\nmore\r\n.\r\n"} {
		for _, typ := range []string{"0", "9"} {
			if body, _, err := get(t, reply(t, "/x\t+", sent)+typ+"/x%09%09+"); !errors.Is(err, fetch.ErrProtocol) {
				t.Errorf("%q came as %q, %v", sent, body, err)
			}
		}
	}
	// The final dot confirms a text, except for a view.
	for path, request := range map[string]string{"0/x%09%09+": "/x\t+", "1/x%09%09+": "/x\t+", "1/x%09%09$": "/x\t$", "0/x%09%09!": "/x\t!"} {
		if body, _, err := get(t, reply(t, request, "+-1\r\n+INFO: 0x\t/x\th\t70\r\n")+path); !errors.Is(err, fetch.ErrTruncated) {
			t.Errorf("%s without the final dot came as %q, %v", path, body, err)
		}
	}
	if body, _, err := get(t, reply(t, "/x\t+text/plain", "+-1\r\nabc\r\n")+"0/x%09%09+text%2Fplain"); err != nil || body != "abc\r\n" {
		t.Errorf("a view without the final dot came as %q, %v", body, err)
	}
	// A truncated header is not a document.
	for _, sent := range []string{"+", "-", "+-", "+-1", "+3", "+3\r", "-12"} {
		if body, _, err := get(t, reply(t, "/x\t+", sent)+"0/x%09%09+"); !errors.Is(err, fetch.ErrTruncated) {
			t.Errorf("%q came as %q, %v", sent, body, err)
		}
	}
	// An impossible number is not the beginning of a document.
	for _, sent := range []string{"+99999999999999999999\r\nabc", "+" + strings.Repeat("0", 100) + "\r\n", "-" + strings.Repeat("9", 30) + "\r\nx"} {
		if body, _, err := get(t, reply(t, "/x\t+", sent)+"0/x%09%09+"); !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%q came as %q, %v", sent, body, err)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	const png = "\x89PNG\r\n\x1a\n0000"
	for _, tt := range []struct{ typ, sent, media string }{
		{"0", "ascii", "text/plain"},
		{"0", "gr\u00fcn", "text/plain; charset=utf-8"},
		{"0", "gr\u00fc"[:3], "text/plain; charset=utf-8"}, // cut in the middle of a character
		{"0", "gr\xfcn", "text/plain; charset=iso-8859-1"},
		{"1", "i\t\t\t\r\n", "application/gopher-menu"},
		{"h", "<p>", "text/html"},
		{"g", "GIF89a", "image/gif"},
		{"p", png, "image/png"},
		{"I", png, "image/png"},
		{"I", "no image", "application/octet-stream"},
		{"9", png, "image/png"},
		{"9", "%PDF-1.4", "application/pdf"},
		{"9", "", "application/octet-stream"},
		{"9", "\x00\x01\x02", "application/octet-stream"},
		{"s", "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wave"},
		{"s", "OggS\x00", "application/ogg"},
		{"d", "%PDF-1.4", "application/pdf"},
		{"P", "%PDF-1.4", "application/pdf"},
		{"4", "(This file", "application/mac-binhex40"},
		{"w", "what?", "application/octet-stream"},
	} {
		_, resp, err := get(t, reply(t, "/x", tt.sent)+tt.typ+"/x")
		if err != nil || resp.ContentType != tt.media {
			t.Errorf("type %s, %q: %v, %v, want %s", tt.typ, tt.sent, resp, err, tt.media)
		}
	}
}

// TestErrorLines tests replies that are an error line, and replies that only resemble one.
func TestErrorLines(t *testing.T) {
	t.Parallel()
	const missing = "3not there\t\terror.host\t1\r\n"
	for sent, isError := range map[string]bool{
		missing:                                              true,
		missing + ".\r\n":                                    true,
		missing + ".":                                        true,
		missing + ".\r\n\r\n":                                true, // geomyidae
		missing + "\r\n":                                     true,
		missing + ".\r\nx":                                   false,
		missing + strings.Repeat("\n", 9):                    false,
		missing + "imore\t\t\t\r\n":                          false,
		strings.TrimRight(missing, "\r\n"):                   true,
		"3not there\tx\tlocalhost\t70\n":                     true,
		"Error: File or directory not found! (null)\r\n":     true,
		"Error: File or directory not found! (null)\r\nmore": false,
		"Error: see below\r\n":                               false,
		"3 apples\n":                                         false,
		"3":                                                  false,
		"0text\t/x\tlocalhost\t70\r\n":                       false,
		"0not there\t\terror.host\t1\r\n":                    true,
		"0not there\t\terror.host\t1\r\nabc\r\n":             false,
		"3" + strings.Repeat("x", 5000) + "\t\t\t1\r\n":      false,
	} {
		for _, typ := range []string{"0", "1", "9"} {
			_, _, err := get(t, reply(t, "/x", sent)+typ+"/x")
			if errors.Is(err, fetch.ErrNotFound) != isError || !isError && err != nil {
				t.Errorf("type %s, %.60q: error %v", typ, sent, err)
			}
		}
	}
}

func TestSearchWords(t *testing.T) {
	t.Parallel()
	base := serve(t, "search")
	c := drive.Client(t, nil, gopher.Load)
	for _, path := range []string{"7/find%09some%20words", "7/find%09some%20words%09+", "7/find%09%09!"} {
		if _, _, err := do(t, c, base+path, fetch.Request{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"7/find", "7/find%09", "7/find%09%09+"} {
		_, _, err := do(t, c, base+path, fetch.Request{})
		var fe *fetch.Error
		if !errors.As(err, &fe) || fe.Code != fetch.ErrNeedSearch || !strings.Contains(fe.Hint, "/7/find%09words") {
			t.Errorf("%s: error %v with the hint %q", path, err, fe.Hint)
		}
	}
}

func TestItemsOnOtherServers(t *testing.T) {
	t.Parallel()
	var opened []string
	other := fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		opened = append(opened, req.URL.String()+" from "+req.From.String())
		return &fetch.Response{Body: io.NopCloser(strings.NewReader("")), Meta: fetch.Meta{Size: -1}}, nil
	})
	allow := &fetch.Policy{AllowPorts: []uint16{23, 1105}}
	c := drive.Client(t, &fetch.Options{Policy: allow}, gopher.Load, fetch.Use("cso", other), func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "http", Ops: []fetch.Op{fetch.OpGet}, Traits: fetch.Traits{RedirectTarget: true}, Driver: other})
	})
	for path, want := range map[string]string{
		"gopher://h.example:105/2%09joe%20smith":         "cso://h.example/joe%20smith",
		"gopher://h.example/2%09joe":                     "cso://h.example/joe",
		"gopher://h.example:1105/2":                      "cso://h.example:1105/",
		"gopher://h.example/hURL:http://w.example/a%3Fb": "http://w.example/a?b",
	} {
		opened = nil
		_, _, err := do(t, c, path, fetch.Request{})
		if len(opened) != 1 || opened[0] != want+" from "+path || err != nil {
			t.Errorf("%s opened %q, %v", path, opened, err)
		}
	}
	for path, want := range map[string]string{
		"gopher://h.example:23/8guest": "open telnet://guest@h.example/",
		"gopher://h.example:3270/T":    "open tn3270://h.example:3270/",
	} {
		_, _, err := do(t, c, path, fetch.Request{})
		var fe *fetch.Error
		if !errors.As(err, &fe) || fe.Code != fetch.ErrInteractive || fe.Hint != want {
			t.Errorf("%s: error %v with the hint %q", path, err, fe.Hint)
		}
	}
	for _, path := range []string{"gopher://h.example/iWelcome", "gopher://h.example/3"} {
		if _, _, err := do(t, c, path, fetch.Request{}); !errors.Is(err, fetch.ErrNotRetrievable) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// TestMenusDoNotReachOtherServices follows items to forbidden targets (RFC 1738, section 6).
func TestMenusDoNotReachOtherServices(t *testing.T) {
	t.Parallel()
	menu := "0Mail\tHELO x\t127.0.0.1\t25\r\n0News\tx\t127.0.0.1\t119\r\nhFile\tURL:file:///etc/passwd\t127.0.0.1\t70\r\n"
	base := reply(t, "", menu)
	c := drive.Client(t, nil, gopher.Load)
	n := 0
	for _, e := range drive.MustList(t, c, base) {
		n++
		resp, err := c.Do(t.Context(), &fetch.Request{URL: e.URL, From: uri.MustParse(base)})
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, fetch.ErrPolicy) && !errors.Is(err, fetch.ErrScheme) {
			t.Errorf("%s: error %v", e.URL, err)
		}
	}
	if n != 3 {
		t.Errorf("%d entries", n)
	}
}

func TestFormInALinkIsNotSent(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, gopher.Load)
	const link = "gopher://127.0.0.1/0form%09%09+%091%0D%0A+-1%0D%0Aone%0D%0A.%0D%0A"
	_, _, err := do(t, c, link, fetch.Request{From: uri.MustParse("gopher://127.0.0.1/")})
	if !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("error %v", err)
	}
}

func TestReplyTimeout(t *testing.T) {
	t.Parallel()
	base := play(t, "-- connection --\nC: /x\nS!stall\n")
	c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: 20 * time.Millisecond, Idle: time.Hour}}, gopher.Load)
	_, _, err := do(t, c, base+"0/x", fetch.Request{})
	var fe *fetch.Error
	if !errors.As(err, &fe) || fe.Code != fetch.ErrNetwork || !fe.Retry || !strings.Contains(fe.Error(), "no reply within 20ms") {
		t.Errorf("error %v", err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, gopher.Load)
	for rawURL, want := range map[string]string{
		"gopher://h.example":                   `send ""`,
		"gopher://h.example/0/a%20b":           `send "/a b"`,
		"gopher://h.example/7/f%09w%09+":       `send "/f\tw\t+"`,
		"gophers://h.example/1/":               `start TLS; send "/"`,
		"gopher://h.example/0/f%09%09%3F":      `send "/f\t!"; connect again and send a request based on the attributes; send "/f\t+"`,
		"gopher://h.example:105/2%09joe":       `continue with cso://h.example/joe`,
		"gopher://h.example/hURL:http://a/":    `continue with http://a/`,
		"gopher://h.example/0/x%09%09!+A%20+B": `send "/x\t!+A+B"`,
	} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(rawURL)})
		if err != nil || strings.Join(x.Steps, "; ") != want {
			t.Errorf("%s: %v, %v, want %s", rawURL, x, err, want)
		}
	}
	for rawURL, want := range map[string]fetch.Code{
		"gopher://h.example/0a%0D%0Ab":     fetch.ErrURL,
		"gopher://h.example/0a%09%09+%091": fetch.ErrURL, // a flag without the data
		"gopher://h.example/7/find":        fetch.ErrNeedSearch,
		"gopher://h.example/8guest":        fetch.ErrInteractive,
		"gopher://h.example/iWelcome":      fetch.ErrNotRetrievable,
	} {
		if _, err := c.Explain(&fetch.Request{URL: uri.MustParse(rawURL)}); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want one of class %q", rawURL, err, want)
		}
	}
	tab := &fetch.Request{URL: uri.MustParse("gopher://h.example/0/a"), View: "text/html\t1"}
	if _, err := c.Explain(tab); !errors.Is(err, fetch.ErrURL) {
		t.Errorf("a tab in Request.View: error %v", err)
	}
}

func TestAcceptSelectsAView(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, gopher.Load)
	body, resp, err := do(t, c, serve(t, "umn-view")+"00/about%09%09+", fetch.Request{
		Accept: []string{"application/pdf", "text/*"},
		Header: textproto.MIMEHeader{"Accept-Language": {"fr, de;q=0.5"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if body != "Hallo.\r\n.\r\n...\r\n" || resp.ContentType != "Text/plain" {
		t.Errorf("got %q, %s", body, resp.ContentType)
	}
}

// TestTLSWithoutCloseNotify uses servers that omit close_notify, which is not an error. The body is
// then close-delimited, as without TLS.
func TestTLSWithoutCloseNotify(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	addr := servers.Start(t, servers.Config{}, func(c *servers.Conn) {
		conn := tls.Server(c.NetConn(), serverTLS)
		selector, _ := bufio.NewReader(conn).ReadString('\n')
		name, farewell := strings.CutSuffix(strings.TrimSpace(selector), "!")
		io.WriteString(conn, map[string]string{"text": "a\r\n", "dot": "a\r\n.\r\n",
			"menu": "ia\tx\th\t70\r\n", "menudot": "ia\tx\th\t70\r\n.\r\n"}[name])
		if farewell {
			conn.Close()
		}
	}).Addr
	c := drive.Client(t, &fetch.Options{TLS: clientTLS}, gopher.Load)
	for _, tt := range []struct {
		item string
		want string
	}{
		{"0text!", "a\r\n"}, {"0text", "a\r\n"}, {"0dot", "a\r\n"}, {"9text", "a\r\n"}, {"9dot", "a\r\n.\r\n"},
		{"1menu!", "ia\tx\th\t70\r\n"}, {"1menu", "ia\tx\th\t70\r\n"}, {"1menudot", "ia\tx\th\t70\r\n"},
	} {
		body, resp, err := do(t, c, "gophers://"+addr+"/"+tt.item, fetch.Request{})
		if err != nil || body != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.item, body, err, tt.want)
		}
		if err == nil && resp.Framing != fetch.FramedByClose {
			t.Errorf("%s: the body is not close-delimited", tt.item)
		}
	}
}
