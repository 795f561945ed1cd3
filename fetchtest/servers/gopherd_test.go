package servers_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

var gopherTree = fstest.MapFS{
	"docs/end.txt":  {Data: []byte("one\n.\n..\n.two\nno end")},
	"docs/logo.gif": {Data: []byte("GIF89a")},
	"form":          {Data: []byte("form")},
	"page.html":     {Data: []byte("<p>hi")},
}

var gopherOptions = gopherd.Options{
	Tree: gopherTree,
	Attributes: map[string]string{"/form": "+ASK:\r\n Note: Fill this in\r\n Ask: Your name:\tnobody\r\n AskP: Password:\r\n" +
		" AskL: Your story:\r\n Choose: Colour:\tred\tgreen\r\n Select: Sure?:1\r\n+ABSTRACT:\r\n A form.\r\n"},
	Views: map[string]map[string]string{"/docs/end.txt": {"text/html": "<p>one", "text/plain De_DE": "eins"}},
	Items: map[string][]string{"/docs": {"hA page\tGET /page.html\t$HOST\t$PORT\t+"}},
}

// gopherAsk sends a request and returns the response, with $HOST and $PORT in place of the server's
// address.
func gopherAsk(t *testing.T, s *gopherd.Server, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(conn, request)
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	return strings.ReplaceAll(string(got), "\t"+host+"\t"+port, "\t$HOST\t$PORT")
}

// gopherForm is a client's form data with doubled dots.
const gopherForm = "/form\t+\t1\r\n+-1\r\nJoe\r\n..\r\n2\r\nline one\r\n.two\r\ngreen\r\n1\r\n.\r\n"

const gopherAnswered = "Your name: \"Joe\"\nPassword: \"..\"\nYour story: [\"line one\" \".two\"]\nColour: \"green\"\nSure?:1 \"1\"\n"

func TestGopherManners(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manner gopherd.Manner
		want   map[string]string // maps requests to responses
	}{
		"exact": {gopherd.Exact, map[string]string{
			"/docs\r\n": "9end.txt\t/docs/end.txt\t$HOST\t$PORT\r\n9logo.gif\t/docs/logo.gif\t$HOST\t$PORT\r\n" +
				"hA page\tGET /page.html\t$HOST\t$PORT\t+\r\n.\r\n",
			"/docs/end.txt\r\n":    "one\n.\n..\n.two\nno end",
			"/none\r\n":            "3'/none' does not exist\t\terror.host\t1\r\n.\r\n",
			"/docs/end.txt\t+\r\n": "one\n.\n..\n.two\nno end",
		}},
		"2.3.1": {gopherd.UMN2, map[string]string{
			"1/docs\r\n": "0end.txt\t0/docs/end.txt\t$HOST\t$PORT\t+\r\n9logo.gif\t9/docs/logo.gif\t$HOST\t$PORT\t+\r\n" +
				"hA page\tGET /page.html\t$HOST\t$PORT\t+\r\n.\r\n",
			"0/docs/end.txt\r\n":     "one\r\n..\r\n..\r\n.two\r\nno end\r\n.\r\n",
			"9/docs/logo.gif\r\n":    "GIF89a",
			"/docs/end.txt\r\n":      "one\r\n..\r\n..\r\n.two\r\nno end\r\n.\r\n",
			"0/none\r\n":             "0'/none' does not exist!!\t\terror.host\t1\r\n.\r\n",
			"GET /page.html\r\n":     "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hi",
			"GET /none HTTP/1.0\r\n": "HTTP/1.0 404 Not Found\r\n\r\n",

			"0/docs/end.txt\t+\r\n":                 "+-1\r\none\r\n..\r\n..\r\n.two\r\nno end\r\n.\r\n",
			"9/docs/logo.gif\t+\r\n":                "+6\r\nGIF89a",
			"0/docs/end.txt\t+text/plain De_DE\r\n": "+-1\r\neins",
			"0/docs/end.txt\t+image/gif\r\n":        "--1\r\n1 Keeper <keeper@example.org>\r\n'/views/docs/end.txt' does not exist!!\r\n.\r\n",
			"0/none\t+\r\n":                         "--1\r\n1 Keeper <keeper@example.org>\r\n'/none' does not exist!!\r\n.\r\n",
			"1/docs\t+\r\n": "+-1\r\n0end.txt\t0/docs/end.txt\t$HOST\t$PORT\t+\r\n9logo.gif\t9/docs/logo.gif\t$HOST\t$PORT\t+\r\n" +
				"hA page\tGET /page.html\t$HOST\t$PORT\t+\r\n.\r\n",
			"9" + gopherForm:                "+-1\r\n" + strings.ReplaceAll(gopherAnswered, "\n", "\r\n") + ".\r\n",
			"9/form\t+\t1\r\n+5\r\n..a\r\n": "+5\r\n..a\r\n",
		}},
		"3.0.5": {gopherd.UMN3, map[string]string{
			"0/docs/end.txt\r\n":             "one\n.\n..\n.two\nno end.\r\n",
			"0/docs/end.txt\t+\r\n":          "+20\r\none\n.\n..\n.two\nno end.\r\n",
			"0/docs/end.txt\t+text/html\r\n": "+6\r\n<p>one.\r\n",
			"9" + gopherForm:                 "+92\r\n" + gopherAnswered + ".\r\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := gopherOptions
			opts.Manner = tt.manner
			s := gopherd.Start(t, opts)
			for request, want := range tt.want {
				if got := gopherAsk(t, s, request); got != want {
					t.Errorf("%q:\ngot  %q\nwant %q", request, got, want)
				}
			}
		})
	}
}

func TestGopherAttributes(t *testing.T) {
	t.Parallel()
	opts := gopherOptions
	opts.Manner = gopherd.UMN2
	s := gopherd.Start(t, opts)
	const admin = "+ADMIN:\r\n Admin: Keeper <keeper@example.org>\r\n Mod-Date: Mon Feb 3 04:05:06 2020 <20200203040506>\r\n"
	end := "+INFO: 0end.txt\t0/docs/end.txt\t$HOST\t$PORT\t+\r\n" + admin + "+VIEWS:\r\n text/html: <1k>\r\n text/plain De_DE: <1k>\r\n"
	for request, want := range map[string]string{
		"0/docs/end.txt\t!\r\n": "+-1\r\n" + end + ".\r\n",
		"9/form\t!\r\n":         "+-1\r\n+INFO: 9form\t9/form\t$HOST\t$PORT\t?\r\n" + admin + gopherOptions.Attributes["/form"] + ".\r\n",
		"1/docs\t$\r\n":         "+-1\r\n" + end + "+INFO: 9logo.gif\t9/docs/logo.gif\t$HOST\t$PORT\t+\r\n" + admin + ".\r\n",
	} {
		if got := gopherAsk(t, s, request); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", request, got, want)
		}
	}
}
