package dict_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/protocols/dict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t testing.TB, opts *fetch.Options) *fetch.Client {
	t.Helper()
	if opts == nil {
		opts = &fetch.Options{}
	}
	opts.Identity.UserAgent = "urlget-test"
	c := drive.Client(t, opts, dict.Load)
	return c
}

// serve serves a banner and then script, and returns the address.
func serve(t testing.TB, script string) string {
	t.Helper()
	return transcript.Play(t, "-- c --\nS: 220 lab <auth.mime> <1.2@lab>\n"+script)
}

const name = "C: CLIENT \"urlget-test\"\n"

// commandScript returns a conversation with one command and its replies.
func commandScript(command, reply string) string {
	return name + "C: " + command + "\nC: QUIT\nS: 250 ok\n" + reply
}

func list(t testing.TB, c *fetch.Client, url string) (lines []string, err error) {
	entries, err := drive.List(t, c, url)
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%v %s %+v %s", e.Kind, e.Name, e.Sys, e.URL.URLPath()))
	}
	return lines, err
}

const twoDefinitions = `S: 150 2 definitions retrieved
S: 151 "Dot" one "The \"One\""
S: first
S: .dot at column one
S: ..
S: .
S: 151 "dot" two "Two"
S: second
S: .
S: 250 ok [d/m/c = 2/0/9]
`

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for path, tt := range map[string]struct{ command, want string }{
		"d:dot": {`DEFINE ! "dot"`, "From The \"One\" [one]:\r\n\r\nfirst\r\n.dot at column one\r\n.\r\n" +
			"From Two [two]:\r\n\r\nsecond\r\n"},
		"d:dot:*:2":           {`DEFINE * "dot"`, "From Two [two]:\r\n\r\nsecond\r\n"},
		"d:dot:":              {`DEFINE ! "dot"`, ""},
		"d:dot::1":            {`DEFINE ! "dot"`, "From The \"One\" [one]:\r\n\r\nfirst\r\n.dot at column one\r\n.\r\n"},
		"d:a%20%22b%22%5C:x-": {`DEFINE x- "a \"b\"\\"`, ""},
		"d:caf%C3%A9%3A?#f":   {`DEFINE ! "café:?"`, ""},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			c := client(t, nil)
			if got, err := drive.Get(t, c, "dict://"+serve(t, commandScript(tt.command, twoDefinitions))+"/"+path); err != nil || tt.want != "" && got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	matches := "S: 152 3 matches\nS: one \"dot\"\nS: two \"a: \\\"b\\\"\"\nS: three 'x y'\nS: .\nS: 250 ok\n"
	for path, tt := range map[string]struct{ conversation, want string }{
		"d:dot": {commandScript(`DEFINE ! "dot"`, twoDefinitions),
			`object Dot {Word:Dot Database:one Description:The "One"} d:dot:one:1` + "\n" +
				`object dot {Word:dot Database:two Description:Two} d:dot:two:1`},
		"d:dot:*:2": {commandScript(`DEFINE * "dot"`, twoDefinitions), `object dot {Word:dot Database:two Description:Two} d:dot:two:1`},
		"m:do": {commandScript(`MATCH ! . "do"`, matches),
			"object dot {Database:one Word:dot} d:dot:one\nobject a: \"b\" {Database:two Word:a: \"b\"} d:a%3A%20%22b%22:two\n" +
				"object x y {Database:three Word:x y} d:x%20y:three"},
		"m:do:*:prefix:1": {commandScript(`MATCH * prefix "do"`, matches), "object dot {Database:one Word:dot} d:dot:one"},
		"": {commandScript("SHOW DB", "S: 110 1 databases present\nS: one \"The One\"\nS: .\nS: 250 ok\n"),
			"search one {Name:one Description:The One} d::one"},
		"?": {commandScript("SHOW DB", "S: 554 no databases present\n"), ""},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if path == "?" {
				path = ""
			}
			c := client(t, nil)
			got, err := list(t, c, "dict://"+serve(t, tt.conversation)+"/"+path)
			if err != nil || strings.Join(got, "\n") != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

// A list with fewer lines than announced is incomplete, like definitions. The number may be missing.
func TestShortLists(t *testing.T) {
	t.Parallel()
	for path, conversation := range map[string]string{
		"m:do": commandScript(`MATCH ! . "do"`, "S: 152 N matches\nS: one \"dot\"\nS: .\nS: 250 ok\n"),
		"":     commandScript("SHOW DB", "S: 110 N databases present\nS: one \"The One\"\nS: .\nS: 250 ok\n"),
	} {
		for announced, want := range map[string]fetch.Code{"1": "", "some": "", "0": "", "2": fetch.ErrProtocol} {
			addr := serve(t, strings.Replace(conversation, " N ", " "+announced+" ", 1))
			if got, err := drive.Get(t, client(t, nil), "dict://"+addr+"/"+path); fetch.CodeOf(err) != want || !strings.HasPrefix(got, "one ") {
				t.Errorf("%q, %s: %q, %v; want %q", path, announced, got, err, want)
			}
		}
	}
}

// The number of definitions is exact (RFC 2229, section 3.2). It may be missing, and some servers send 0.
func TestNumberOfDefinitions(t *testing.T) {
	t.Parallel()
	two := strings.TrimPrefix(twoDefinitions, "S: 150 2 definitions retrieved\n")
	for first, tt := range map[string]struct {
		rest string
		code fetch.Code
	}{
		"150 2 definitions": {rest: two}, "150 definitions": {rest: two}, "150 0 definitions": {rest: two},
		"150 1 definition":  {rest: two, code: fetch.ErrProtocol},
		"150 3 definitions": {rest: two, code: fetch.ErrProtocol},
		"150 1 announced":   {rest: "S: 250 ok\n", code: fetch.ErrProtocol},
		"150 announced":     {rest: "S: 250 ok\n"},
	} {
		for _, op := range []fetch.Op{fetch.OpGet, fetch.OpList} {
			addr := serve(t, commandScript(`DEFINE ! "dot"`, "S: "+first+"\n"+tt.rest))
			_, err := drive.Read(client(t, nil).Do(t.Context(), &fetch.Request{URL: uri.MustParse("dict://" + addr + "/d:dot"), Op: op}))
			if fetch.CodeOf(err) != tt.code {
				t.Errorf("%s, %v: %v, want class %q", first, op, err, tt.code)
			}
		}
	}
}

func TestMatchBody(t *testing.T) {
	t.Parallel()
	addr := serve(t, commandScript(`MATCH ! . "do"`, "S: 152 1 matches\nS: one \"dot\"\nS: .\nS: 250 ok\n"))
	body, resp, err := drive.Do(t, client(t, nil), &fetch.Request{URL: uri.MustParse("dict://" + addr + "/m:do")})
	if err != nil {
		t.Fatal(err)
	}
	if body != "one \"dot\"\r\n" || resp.Kind != fetch.KindListing || resp.Reply.Code != 152 {
		t.Errorf("got %q, %v, %+v", body, err, resp.Meta)
	}
}

func TestErrorReplies(t *testing.T) {
	t.Parallel()
	define := `DEFINE ! "x"`
	for reply, tt := range map[string]struct {
		code  fetch.Code
		retry bool
	}{
		"S: 552 no match":                                  {fetch.ErrNotFound, false},
		"S: 550 invalid database":                          {fetch.ErrNotFound, false},
		"S: 551 invalid strategy":                          {fetch.ErrNotFound, false},
		"S: 420 unavailable":                               {fetch.ErrBusy, true},
		"S: 421 shutting down":                             {fetch.ErrBusy, true},
		"S: 530 access denied":                             {fetch.ErrAuth, false},
		"S: 531 access denied":                             {fetch.ErrAuth, false},
		"S: 500 syntax error":                              {fetch.ErrProtocol, false},
		"S: 501 illegal parameters":                        {fetch.ErrProtocol, false},
		"S: 502 not implemented":                           {fetch.ErrServer, false},
		"S: 152 1 matches":                                 {fetch.ErrProtocol, false},
		"S: what":                                          {fetch.ErrProtocol, false},
		"S: 150 1\nS: 151 \"x":                             {fetch.ErrProtocol, false},
		"S: 150 1\nS: 552 no match":                        {fetch.ErrNotFound, false},
		"S: 150 1\nS: 250 but no":                          {fetch.ErrProtocol, false},
		"S: 150 2\nS: 151 x y z\nS: text\nS: .\nS: 250 ok": {fetch.ErrProtocol, false},
		"S: 150 1\nS!close":                                {fetch.ErrNetwork, true},
		"S: 150 1\nS: 151 x y z\nS: text\nS!close":         {fetch.ErrTruncated, true},
		"S: 150 1\nS: 151 x y z\nS: text\nS: .\nS!close":   {fetch.ErrTruncated, true},
		"S: 150 1\nS: 151 x y z\nS: text\nS: .\nS: 420 no": {fetch.ErrBusy, true},
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			c := client(t, nil)
			_, err := drive.Get(t, c, "dict://"+serve(t, commandScript(define, reply+"\n"))+"/d:x")
			var e *fetch.Error
			if tt.code == "" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry {
				t.Errorf("%v (%v), want %v", err, fetch.CodeOf(err), tt.code)
			}
		})
	}
}

func TestResultNumberOutOfRange(t *testing.T) {
	t.Parallel()
	for path, conversation := range map[string]string{
		"d:dot:*:3":   commandScript(`DEFINE * "dot"`, twoDefinitions),
		"m:dot:*:.:2": commandScript(`MATCH * . "dot"`, "S: 152 1\nS: one dot\nS: .\nS: 250 ok\n"),
	} {
		c := client(t, nil)
		drive.Fails(t, c, "dict://"+serve(t, conversation)+"/"+path, fetch.ErrNotFound)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	const found = "C: DEFINE ! \"dot\"\nC: QUIT\n" + twoDefinitions
	t.Run("by a digest", func(t *testing.T) {
		t.Parallel()
		var trace []string
		var rec fetchtest.Recording
		c := client(t, &fetch.Options{Recorder: fetch.JoinRecorders(&rec,
			fetch.RecordLines(func(_ bool, line string) { trace = append(trace, line) }))})
		addr := serve(t, name+"C: AUTH \"joe\" "+digest("<1.2@lab>secret")+"\nS: 250 ok\nS: 230 welcome\n"+found)
		drive.MustGet(t, c, "dict://joe;AUTH:secret@"+addr+"/d:dot")
		if all := strings.Join(trace, "\n"); rec.Shows(digest("<1.2@lab>secret")) || strings.Contains(all, digest("<1.2@lab>secret")) || !strings.Contains(all, `AUTH "joe" ****`) {
			t.Errorf("trace:\n%s", all)
		}
	})
	t.Run("once more with another password", func(t *testing.T) {
		t.Parallel()
		c := client(t, &fetch.Options{Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
			if ch.User != "joe" || ch.Mechanism != "dict" {
				t.Errorf("challenge %+v", ch)
			}
			return fetch.Credential{User: ch.User, Password: fmt.Sprint(ch.Attempt)}, nil
		})})
		addr := serve(t, name+"C: AUTH \"joe\" "+digest("<1.2@lab>1")+"\nS: 250 ok\nS: 531 no\n"+
			"C: AUTH \"joe\" "+digest("<1.2@lab>2")+"\nS: 230 yes\n"+found)
		drive.MustGet(t, c, "dict://joe@"+addr+"/d:dot")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		addr := serve(t, name+"C: AUTH \"joe\" "+digest("<1.2@lab>secret")+"\nS: 250 ok\nS: 531 no\n")
		drive.Fails(t, client(t, nil), "dict://joe:secret@"+addr+"/d:dot", fetch.ErrAuth)
	})
	t.Run("not possible", func(t *testing.T) {
		t.Parallel()
		conv, err := transcript.Parse("x", []byte("-- c --\nS: 220 lab\n"))
		if err != nil {
			t.Fatal(err)
		}
		drive.Fails(t, client(t, nil), "dict://joe:secret@"+transcript.Server(t, conv)+"/d:dot", fetch.ErrAuth)
	})
}

func TestInvalidURLs(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	for url, code := range map[string]fetch.Code{
		"dict:d:x":                                             fetch.ErrURL,
		"dict://127.0.0.1:1025/x":                              fetch.ErrURL,
		"dict://127.0.0.1:1025/d:":                             fetch.ErrNeedSearch,
		"dict://127.0.0.1:1025/d::testdict":                    fetch.ErrNeedSearch,
		"dict://127.0.0.1:1025/d:x:a%20b":                      fetch.ErrURL,
		"dict://127.0.0.1:1025/m:x:a:b%22":                     fetch.ErrURL,
		"dict://127.0.0.1:1025/d:x:a:0":                        fetch.ErrURL,
		"dict://127.0.0.1:1025/d:x:a:b":                        fetch.ErrURL,
		"dict://127.0.0.1:1025/d:x:a:1:":                       fetch.ErrURL,
		"dict://127.0.0.1:1025/d:x%0D%0AQUIT":                  fetch.ErrURL,
		"dict://u;KERBEROS_V4@127.0.0.1:1025/d:x":              fetch.ErrAuth,
		"dict://127.0.0.1:1025/d:" + strings.Repeat("x", 1100): fetch.ErrURL,
	} {
		drive.Fails(t, c, url, code)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	x, err := client(t, nil).Explain(&fetch.Request{URL: uri.MustParse("dict://joe:secret@h/m:w:*:prefix")})
	want := "CLIENT \"urlget-test\"\nAUTH \"joe\" ****\nMATCH * prefix \"w\"\nQUIT"
	if err != nil || strings.Join(x.Steps, "\n") != want {
		t.Errorf("%v, %v", x, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			words := make(map[string]string)
			fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					data, _ := fs.ReadFile(tree, name)
					words[name] = string(data)
				}
				return err
			})
			s := dictd.Start(t, dictd.Options{Words: words})
			return fetchtest.Site{
				Load: dict.Load,
				URL: func(name string) string {
					if info, err := fs.Stat(tree, name); name == "octets.bin" || err == nil && info.IsDir() {
						return "" // definitions are lines of text, and there are no directories
					}
					return "dict://" + s.Addr + "/d:" + uri.Escape(name)
				},
				Want: func(_ string, content []byte) []byte {
					text := strings.ReplaceAll(string(content), "\n", "\r\n")
					if text != "" && !strings.HasSuffix(text, "\n") {
						text += "\r\n"
					}
					return []byte("From The Tree [tree]:\r\n\r\n" + text)
				},
				Log:   s.Log,
				Fault: s.Fail,
			}
		},
	})
}

func digest(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
