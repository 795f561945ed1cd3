package spartan

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := spartand.Start(t, spartand.Options{Tree: tree})
			return fetchtest.Site{
				Load:    Load,
				URL:     func(name string) string { return fileURL(s, tree, name) },
				Log:     s.Log,
				Fault:   s.Fail,
				Can:     s.Can,
				Escaped: true,
			}
		},
	})
}

// fileURL returns the URL of a file or directory.
func fileURL(s *servers.Server, tree fs.FS, name string) string {
	if name == "." {
		return s.URL + "/"
	}
	u := s.URL + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
	if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
		u += "/"
	}
	return u
}

func TestRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine-len("h.example / 0"))
	c := drive.Client(t, nil, Load)
	fetchtest.RunExplain(t, c, map[string]string{
		"spartan://h.example":                `send "h.example / 0"`,
		"spartan://h.example/?":              `send "h.example / 0"`,
		"spartan://h.example/a/b%20c#z":      `send "h.example /a/b%20c 0"`,
		"spartan://h.example/a?x%20y":        `send "h.example /a 3"; send 3 bytes of data: "x y"`,
		"spartan://h.example/a?x+y":          `send "h.example /a 3"; send 3 bytes of data: "x+y"`,
		"spartan://h.example/a?%FF%0D%0Ax":   `send "h.example /a 4"; send 4 bytes of data: "\xff\r\nx"`,
		"spartan://H.Example:300/":           `send "h.example / 0"`,
		"spartan://h.example:3000/%0D%0A":    `send "h.example /%0D%0A 0"`,
		"spartan://[::1]/":                   `send "[::1] / 0"`,
		"spartan://bücher.example/é":         `send "xn--bcher-kva.example /%C3%A9 0"`,
		"spartan://h.example/" + long:        `send "h.example /` + long + ` 0"`,
		"spartan://h.example/" + long + "y":  "",
		"spartan://joe@h.example/":           "",
		"spartan://joe:secret@h.example/":    "",
		"spartan:x":                          "",
		"spartan:///x":                       "",
		"spartan://h.example/a%00b?%00":      `send "h.example /a%00b 1"; send 1 bytes of data: "\x00"`,
		"spartan://h.example/a;b=c/../d?e=f": `send "h.example /a;b=c/../d 3"; send 3 bytes of data: "e=f"`,
	})
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]fetch.Error{
		"3 gemini://h.example/":              {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 3, Text: "gemini://h.example/"}},
		"3 //h.example/":                     {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 3, Text: "//h.example/"}},
		"3 beside":                           {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 3, Text: "beside"}},
		"3 ":                                 {Code: fetch.ErrRedirect, Reply: fetch.Reply{Code: 3}},
		"4 File \"/x\" not found":            {Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 4, Text: "File \"/x\" not found"}},
		"4 '/x' does not exist (no handler)": {Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 4, Text: "'/x' does not exist (no handler)"}},
		"4 Too long":                         {Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 4, Text: "Too long"}},
		"4":                                  {Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 4}},
		"5 Disk on fire":                     {Code: fetch.ErrServer, Retry: true, Reply: fetch.Reply{Code: 5, Text: "Disk on fire"}},
		"1 What?":                            {Code: fetch.ErrProtocol},
		"6 x":                                {Code: fetch.ErrProtocol},
		"20 text/plain":                      {Code: fetch.ErrProtocol},
		"2\ttext/plain":                      {Code: fetch.ErrProtocol},
		"HTTP/1.1 200 OK":                    {Code: fetch.ErrProtocol},
		"":                                   {Code: fetch.ErrProtocol},
		"2 nonsense":                         {Code: fetch.ErrProtocol},
		"4 a\x00b":                           {Code: fetch.ErrProtocol},
		"4 " + strings.Repeat("x", smallnet.MaxText+1):  {Code: fetch.ErrProtocol},
		"3 /" + strings.Repeat("x", smallnet.MaxText+1): {Code: fetch.ErrProtocol},
	} {
		t.Run(header[:min(len(header), 20)], func(t *testing.T) {
			t.Parallel()
			s := spartand.Start(t, spartand.Options{Replies: map[string]string{"/": header}})
			_, err := drive.Get(t, drive.Client(t, nil, Load), s.URL+"/")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != want.Code || e.Reply != want.Reply || e.Retry != want.Retry {
				t.Errorf("got %#v, want %#v", e, want)
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"2":                          "text/gemini; charset=utf-8",
		"2 text/gemini; lang=de":     "text/gemini; lang=de",
		"2 text/plain;charset=x;;a":  "text/plain;charset=x;;a",
		"2 application/octet-stream": "application/octet-stream",
	} {
		s := spartand.Start(t, spartand.Options{Replies: map[string]string{"/a%20b.gmi": header + "\r\nbody"}})
		c := drive.Client(t, nil, Load)
		resp, err := c.Get(t.Context(), s.URL+"/a%20b.gmi")
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		body, err := drive.Read(resp, nil)
		if body != "body" || err != nil || resp.ContentType != want || resp.Name != "a b.gmi" || resp.Framing != fetch.FramedByClose {
			t.Errorf("%q: %q, %v, %+v", header, body, err, resp.Meta)
		}
		if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/a%20b.gmi")}); err != nil || meta.ContentType != want {
			t.Errorf("%q: Stat: %+v, %v", header, meta, err)
		}
	}
}

// TestData sends the text in a URL. A redirect discards it.
func TestData(t *testing.T) {
	t.Parallel()
	s := spartand.Start(t, spartand.Options{Replies: map[string]string{
		"/post?two words\r\nin two lines": "3 /thanks", "/thanks": "2 text/plain\r\nthanks", "/again": "3 /thanks?more", "/thanks?more": "2 text/plain\r\nmore",
	}})
	c := drive.Client(t, nil, Load)
	resp, err := c.Get(t.Context(), s.URL+"/post?two%20words%0D%0Ain%20two%20lines")
	if got, err := drive.Read(resp, err); got != "thanks" || err != nil || resp.URL.String() != s.URL+"/thanks" {
		t.Errorf("got %q, %v", got, err)
	}
	drive.Gets(t, c, s.URL+"/again", "more") // a redirect, with text
}

// TestForeignRequestsCannotSendLines checks that a page cannot send lines to the port of another
// protocol, which would execute them.
func TestForeignRequestsCannotSendLines(t *testing.T) {
	t.Parallel()
	s := spartand.Start(t, spartand.Options{Replies: map[string]string{"/?one line": "2 text/plain\r\nok"}})
	c := drive.Client(t, nil, Load)
	for query, want := range map[string]fetch.Code{"one%20line": "", "a%0D%0ADELE%201": fetch.ErrPolicy, "a%0Ab": fetch.ErrPolicy, "%00": fetch.ErrPolicy} {
		req := &fetch.Request{URL: uri.MustParse(s.URL + "/?" + query), From: uri.MustParse("spartan://127.0.0.1:1/")}
		before := len(s.Log())
		if _, err := drive.Read(c.Do(t.Context(), req)); fetch.CodeOf(err) != want {
			t.Errorf("%s: error %v, want class %q", query, err, want)
		}
		if sent := len(s.Log()) - before; (sent == 0) != (want != "") {
			t.Errorf("%s: the server got %d requests", query, sent)
		}
	}
}

// TestTranscripts replays responses of servers.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		op   fetch.Op
		want string
		code fetch.Code
	}{
		"pygopherd-menu":    {path: "gopher", op: fetch.OpList, want: "object Welcome /gopher/welcome.txt; object Deeper /gopher/deeper; search Find /gopher/find; object Elsewhere gopher://127.0.0.1:70/1/x; listing Up /; "},
		"pygopherd-missing": {path: "nonexist", code: fetch.ErrNotFound},
		"pygopherd-file":    {path: "text/hello.txt", want: "hello\r\nworld\n"},
		"upload":            {path: "guestbook?Hello%20world!", want: "Thanks\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv, err := transcript.Load("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			root := "spartan://" + transcript.Server(t, conv)
			req := &fetch.Request{URL: uri.MustParse(root + "/" + tt.path), Op: tt.op}
			fetchtest.CheckOutline(t, drive.Client(t, nil, Load), req, root, tt.want, tt.code)
		})
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("2 text/gemini; charset=utf-8")
	f.Add("4 Not found")
	f.Fuzz(func(t *testing.T, line string) {
		status, meta, err := headerFormat.Parse(line)
		if err == nil && (status < success || status > serverError || len(meta) > smallnet.MaxText || strings.ContainsAny(meta, "\r\n\x00")) {
			t.Errorf("%q: %d %q", line, status, meta)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add("spartan://h.example/a%20b?two%20words")
	f.Add("spartan://[::1%25lo]:301/%0d%0a?%0d%0a")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := uri.Parse(text)
		if err != nil || u.Scheme() != "spartan" {
			return
		}
		req, err := parse(u)
		if err == nil && (strings.Count(req.line, " ") != 2 || strings.ContainsAny(req.line, "\r\n\x00") || len(req.line) > maxLine) {
			t.Errorf("%q: %q", text, req.line)
		}
	})
}
