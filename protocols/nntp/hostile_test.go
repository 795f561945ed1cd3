package nntp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

const legacyHandshake = "S: 200 hi\nC: CAPABILITIES\nS: 500 ?\nC: MODE READER\nS: 500 ?\n"

// TestDataAfterAReplyIsIgnored checks that data after the end of a reply is not read as the reply
// to the next command.
func TestDataAfterAReplyIsIgnored(t *testing.T) {
	t.Parallel()
	for _, trailing := range []string{
		"220 0 <2@x.invalid>\r\nSubject: planted\r\n\r\nplanted\r\n.\r\n", "211 3 1 3 test.a\r\n", "430 no\r\n", "\r\n", "2",
	} {
		s := nntpd.Start(t, nntpd.Options{Groups: groups(3), Trailing: trailing})
		c := drive.Client(t, nil, With(Options{Server: s.Addr}))
		for _, url := range []string{"news:1@x.invalid", "news:2@x.invalid", "nntp:test.a/3", "news:2@x.invalid", "nntp:test.a/1"} {
			n := url[strings.IndexAny(url, "123"):][:1]
			want := crlf(strings.ReplaceAll(sample, "<1@x.invalid>", "<"+n+"@x.invalid>"))
			if body, err := drive.Get(t, c, url); err != nil || body != want {
				t.Errorf("behind %q, %s: %q, %v", trailing, url, body, err)
			}
		}
	}
}

// TestServersThatIgnoreRanges checks that each article is listed once, even if the server claims more
// articles than it has.
func TestServersThatIgnoreRanges(t *testing.T) {
	t.Parallel()
	const rows = "224 rows\r\n0\tzero\r\n1\ta\r\n3\tc\r\n2\tb\r\n99999999999999\tbeyond\r\n.\r\n"
	for name, group := range map[string]string{
		"a few": "211 3 1 3 test.a\r\n", "many": "211 100000000000 1 100000000000 test.a\r\n", "some": "211 9000 1 9000 test.a\r\n",
	} {
		s := nntpd.Start(t, nntpd.Options{Groups: groups(3), Replies: map[string]string{"GROUP": group, "OVER": rows}})
		c := drive.Client(t, nil, With(Options{Server: s.Addr}))
		entries, err := drive.List(t, c, "news:test.a")
		if len(entries) != 3 || err != nil {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
		if n := len(s.Log()); n > 12 {
			t.Errorf("%s: %d commands", name, n)
		}
	}
}

// TestWrongArticleIsAnError uses servers that send another article than the requested one. The
// first always does. The others do once, on a reused connection, as if replies were out of step.
func TestWrongArticleIsAnError(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(2), WrongID: "<other@x.invalid>"})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat} {
		_, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: mustParse(t, "news:1@x.invalid"), Op: op}))
		if !errors.Is(err, fetch.ErrProtocol) || !strings.Contains(err.Error(), "<other@x.invalid>") {
			t.Errorf("%s: %v", op, err)
		}
	}

	const article = "S: A: b\nS:\nS: text\nS: .\n"
	for name, tt := range map[string]struct {
		command, reply string // the second time
		url            string
		ok             bool // leaseSession that reply
	}{
		"right article":            {"ARTICLE <2@b>", "220 0 <2@b>", "/2@b", true},
		"right article and text":   {"ARTICLE <2@b>", "220 17 <2@b> article retrieved", "/2@b", true},
		"no message-id":            {"ARTICLE <2@b>", "220 0 article retrieved", "/2@b", true},
		"code only":                {"ARTICLE <2@b>", "220", "/2@b", true},
		"other message-id":         {"ARTICLE <2@b>", "220 0 <1@b>", "/2@b", false},
		"message-id in other case": {"ARTICLE <2@b>", "220 0 <2@B>", "/2@b", false},
		"reply to GROUP":           {"ARTICLE <2@b>", "211 1 1 1 a.b", "/2@b", false},
		"late reply to QUIT":       {"ARTICLE <2@b>", "205 bye", "/2@b", false},
		"reply to BODY":            {"ARTICLE <2@b>", "222 0 <2@b>", "/2@b", false},
		"plain refusal":            {"ARTICLE <2@b>", "430 no", "/2@b", true},
		"400 reply":                {"ARTICLE <2@b>", "400 idle for too long", "/2@b", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := "-- first --\n" + legacyHandshake + "C: ARTICLE <1@b>\nS: 220 0 <1@b>\n" + article + "C: " + tt.command + "\nS: " + tt.reply + "\n"
			refused := strings.HasPrefix(tt.reply, "4")
			if tt.ok && !refused {
				first += article
			}
			if !tt.ok { // and again on a new connection
				first += "-- second --\n" + legacyHandshake + "C: " + tt.command + "\nS: 220 0 <2@b>\n" + article
			}
			addr := transcript.Play(t, first+"C? QUIT\n")
			c := drive.Client(t, nil, Load)
			drive.MustGet(t, c, "news://"+addr+"/1@b")
			body, err := drive.Get(t, c, "news://"+addr+tt.url)
			if tt.ok && refused {
				if !errors.Is(err, fetch.ErrNotFound) {
					t.Errorf("%v", err)
				}
			} else if err != nil || body != "A: b\r\n\r\ntext\r\n" {
				t.Errorf("%q, %v", body, err)
			}
			c.Close()
		})
	}
}

// TestWrongArticleNumberIsAnError is like TestWrongArticleIsAnError, for articles requested by number.
func TestWrongArticleNumberIsAnError(t *testing.T) {
	t.Parallel()
	for reply, ok := range map[string]bool{
		"220 7 <7@b>": true, "220 0 <7@b>": true, "220 article": true, "220": true, "220 8 <7@b>": false, "220 77 <7@b>": false,
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			script := "-- first --\n" + legacyHandshake + "C: GROUP a.b\nS: 211 9 1 9 a.b\nC: ARTICLE 7\nS: " + reply + "\n"
			if ok {
				script += "S: A: b\nS: .\n"
			}
			c := drive.Client(t, nil, Load)
			if _, err := drive.Get(t, c, "nntp://"+transcript.Play(t, script+"C? QUIT\n")+"/a.b/7"); (err == nil) != ok || !ok && !errors.Is(err, fetch.ErrProtocol) {
				t.Errorf("%v", err)
			}
			c.Close()
		})
	}
}

// TestAnotherGroupIsAnError uses servers whose reply to GROUP names a group (RFC 3977, section 6.1.1.2). The
// number of an article has a meaning in that group only.
func TestAnotherGroupIsAnError(t *testing.T) {
	t.Parallel()
	for reply, ok := range map[string]bool{
		"211 1 7 7 a.b": true, "211 1 7 7 A.B": true, "211 1 7 7 a.b group selected": true, "211 1 7 7 group a.b selected": true,
		"211 1 7 7": true, "211 1 7 7 a.bc": false, "211 1 7 7 a": false, "211 1 7 7 x.y group selected": false,
	} {
		for path, rest := range map[string]string{
			"/7": "C: ARTICLE 7\nS: 220 7 <7@b>\nS: A: b\nS: .\n",
			"":   "C: OVER 7-7\nS: 224\nS: 7\ta\nS: .\n",
		} {
			script := "-- first --\nS: 200 hi\nC: CAPABILITIES\nS: 101\nS: VERSION 2\nS: READER\nS: OVER\nS: .\nC: GROUP a.b\nS: " + reply + "\n"
			if ok {
				script += rest
			}
			c := drive.Client(t, nil, Load)
			_, err := drive.Get(t, c, "nntp://"+transcript.Play(t, script+"C? QUIT\n")+"/a.b"+path)
			if (err == nil) != ok || !ok && (fetch.CodeOf(err) != fetch.ErrProtocol || !strings.Contains(err.Error(), reply)) {
				t.Errorf("%s, %q: %v", reply, path, err)
			}
			c.Close()
		}
	}
}

// TestAnotherListedGroupIsAnError is like TestAnotherGroupIsAnError, for LISTGROUP (RFC 3977, section 6.1.2.2),
// which selects the group that it names. The reply of RFC 2980 names none.
func TestAnotherListedGroupIsAnError(t *testing.T) {
	t.Parallel()
	for reply, ok := range map[string]bool{
		"211 2 1 9 a.b list follows": true, "211 list of article numbers follow": true, "211": true, "211 2 1 9 x.y list follows": false,
	} {
		script := "-- first --\nS: 200 hi\nC: CAPABILITIES\nS: 101\nS: VERSION 2\nS: READER\nS: OVER\nS: .\nC: GROUP a.b\nS: 211 2 1 9 a.b\n" +
			"C: LISTGROUP a.b\nS: " + reply + "\n"
		if ok {
			script += "S: 1\nS: 9\nS: .\nC: OVER 9-9\nS: 224\nS: 9\ta\nS: .\n"
		}
		c := drive.Client(t, nil, With(Options{Newest: 1}))
		_, err := drive.Get(t, c, "nntp://"+transcript.Play(t, script+"C? QUIT\n")+"/a.b")
		if (err == nil) != ok || !ok && fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: %v", reply, err)
		}
		c.Close()
	}
}

// TestServerWithoutModeReader uses a server of RFC 977 without posting. It does not support MODE
// READER, and replies with a code that means something else in RFC 3977.
func TestServerWithoutModeReader(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(2), Legacy: true, NoModeReader: true})
	c := drive.Client(t, nil, Load)
	drive.Gets(t, c, "nntp://"+s.Addr+"/test.a/1", crlf(sample))
	if entries, err := drive.List(t, c, "news://"+s.Addr+"/test.a"); err != nil || len(entries) != 2 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// TestPlaintextLogin checks that a password is sent without TLS only if it is in the URL or
// AllowPlaintext is set.
func TestPlaintextLogin(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for name, tt := range map[string]struct {
		login, from string
		creds       fetch.Credentials
		opts        Options
		want        error
		sent        int // passwords
	}{
		"in the URL":                            {login: "joe:" + secret + "@", sent: 1},
		"in the URL, wrong":                     {login: "joe:no@", want: fetch.ErrAuth, sent: 1},
		"in the URL, wrong, another elsewhere":  {login: "joe:no@", creds: drive.Credentials(fetch.Credential{User: "joe", Password: secret}), want: fetch.ErrAuth, sent: 1},
		"elsewhere":                             {creds: drive.Credentials(fetch.Credential{User: "joe", Password: secret}), want: fetch.ErrAuth},
		"elsewhere, the user in the URL":        {login: "joe@", creds: drive.Credentials(fetch.Credential{User: "joe", Password: secret}), want: fetch.ErrAuth},
		"elsewhere, allowed":                    {creds: drive.Credentials(fetch.Credential{User: "joe", Password: secret}), opts: Options{AllowPlaintext: true}, sent: 1},
		"in the URL, from the same server":      {login: "joe:" + secret + "@", from: "news://joe:" + secret + "@$/test.a", sent: 1},
		"in the URL, from another server":       {login: "joe:" + secret + "@", from: "news://127.0.0.1/test.a", want: fetch.ErrAuth},
		"in the URL, from a page of that host":  {login: "joe:" + secret + "@", from: "http://127.0.0.1/", want: fetch.ErrAuth},
		"in the URL, from elsewhere, allowed":   {login: "joe:" + secret + "@", from: "http://127.0.0.1/", opts: Options{AllowPlaintext: true}, sent: 1},
		"in the server setting":                 {opts: Options{Server: "nntp://joe:" + secret + "@$"}, sent: 1},
		"in the server setting, from elsewhere": {opts: Options{Server: "nntp://joe:" + secret + "@$"}, from: "http://127.0.0.1/", want: fetch.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nntpd.Start(t, nntpd.Options{Groups: groups(2), User: "joe", Password: secret})
			var log bytes.Buffer
			tt.opts.Server = strings.ReplaceAll(tt.opts.Server, "$", s.Addr)
			c := drive.Client(t, &fetch.Options{Credentials: tt.creds, Logger: slog.New(slog.NewTextHandler(&log, nil))}, With(tt.opts))
			url := "news://" + tt.login + s.Addr + "/1@x.invalid"
			if tt.opts.Server != "" {
				url = "news:1@x.invalid"
			}
			for range 2 {
				req := &fetch.Request{URL: mustParse(t, url)}
				if tt.from != "" {
					req.From = mustParse(t, strings.ReplaceAll(tt.from, "$", s.Addr))
				}
				body, err := drive.Read(c.Do(t.Context(), req))
				if !errors.Is(err, tt.want) || err == nil && body != crlf(sample) {
					t.Errorf("%q, %v, want %v", body, err, tt.want)
				}
				s.CloseClientConnections()
			}
			sent := slices.DeleteFunc(s.Log(), func(line string) bool { return !strings.HasPrefix(line, "AUTHINFO PASS") })
			want := 2 * tt.sent
			if tt.want != nil {
				want = tt.sent // a refused password is not sent again
			}
			if len(sent) != want {
				t.Errorf("the server got %q", sent)
			}
			warnings := strings.Count(log.String(), "level=WARN")
			if want := min(tt.sent, 1); !tt.opts.AllowPlaintext && warnings != want || strings.Contains(log.String(), secret) {
				t.Errorf("the log: %q", log.String())
			}
		})
	}
}

// TestPlaintextBeforeTLS sends bytes before the TLS handshake, as an attacker could inject them.
func TestPlaintextBeforeTLS(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"483 reply":      legacyHandshake + "C: ARTICLE <a@b>\nS: 483 TLS first\n",
		"STARTTLS first": "S: 200 hi\nC: STARTTLS\nS\"382 go\\r\\n200 injected\\r\\n\"\n",
		"no TLS at all":  "S: 200 hi\nC: STARTTLS\nS: 382 go\nC? \nS: 200 what\nS!close\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{StartTLS: strings.Contains(script, "STARTTLS")}
			s, err := servers.New(servers.Config{Scheme: "news"}, func(c *servers.Conn) {
				for line := range strings.Lines(script) {
					switch kind, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); kind {
					case "S:":
						c.Printf("%s", text)
					case "C:":
						c.ReadLine()
					case `S"382`:
						c.Printf("382 go\r\n200 injected")
					}
				}
				c.Flush()
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			_, err = drive.Get(t, drive.Client(t, nil, With(opts)), s.URL+"/a@b")
			if !errors.Is(err, fetch.ErrTLS) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestImplausibleDatesAreIgnored checks that implausible dates are ignored.
func TestImplausibleDatesAreIgnored(t *testing.T) {
	t.Parallel()
	for year, want := range map[string]bool{"0001": false, "1600": false, "1969": false, "1994": true, "2300": false, "9999": false} {
		g := groups(1)
		g[0].Articles[0].Text = strings.ReplaceAll(sample, "29 Feb 2020", "28 Feb "+year)
		s := nntpd.Start(t, nntpd.Options{Groups: g})
		c := drive.Client(t, nil, With(Options{Server: s.Addr, Since: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}))
		m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("news:1@x.invalid")})
		if err != nil || m.ModTime.IsZero() == want {
			t.Errorf("%s: %+v, %v", year, m, err)
		}
		// Articles without a readable date are listed.
		if entries, err := drive.List(t, c, "news:test.a"); err != nil || len(entries) != 1 || entries[0].ModTime.IsZero() == want {
			t.Errorf("%s: %+v, %v", year, entries, err)
		}
	}
}

// A misbehavior replaces a reply or its rest.
type misbehavior func(c *servers.Conn)

// misbehaviors are replies that do not end in time. Their lines are valid in a reply.
var misbehaviors = map[string]misbehavior{
	"a byte at a time":  func(c *servers.Conn) { drip(c, "2") },
	"a line at a time":  func(c *servers.Conn) { drip(c, "A-line: of it 1\r\n") },
	"lines without end": func(c *servers.Conn) { flood(c, "A-line: of it 1\r\n") },
	"endless line":      func(c *servers.Conn) { flood(c, "a-line: of it ") },
	"silence":           func(c *servers.Conn) { c.Wait() },
}

func drip(c *servers.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil || c.Flush() != nil {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

func flood(c *servers.Conn, text string) {
	text = strings.Repeat(text, 2000)
	for {
		if _, err := io.WriteString(c, text); err != nil || c.Flush() != nil {
			return
		}
	}
}

// TestEveryReplyIsLimited replaces each reply of a server in turn with a slow or endless one. Each
// request must end, after at most two connections.
func TestEveryReplyIsLimited(t *testing.T) {
	t.Parallel()
	const reply, most = 150 * time.Millisecond, 15 * time.Second // most is for a busy machine
	replies := map[string]string{
		"": "200 hi", "CAPABILITIES": "101 here\r\nVERSION 2\r\nMODE-READER\r\nREADER\r\nOVER\r\n.", "MODE READER": "200 ok",
		"GROUP": "211 5 1 9 a.b", "LISTGROUP": "211 5 1 9 a.b\r\n1\r\n9\r\n.", "HEAD": "221 9 <a@b>\r\nA: b\r\n.", "ARTICLE": "220 9 <a@b>\r\nA: b\r\n\r\ntext\r\n.",
		"OVER": "500 ?", "XOVER": "500 ?", "LIST NEWSGROUPS": "215 here\r\na.b about\r\n.", "LIST ACTIVE": "215 here\r\na.b 9 1 y\r\n.",
		"AUTHINFO USER": "381 ?", "AUTHINFO PASS": "281 ok",
	}
	var all sync.WaitGroup // the tests run concurrently, because they mostly wait
	defer all.Wait()
	run := func(name string, f func(*testing.T)) { all.Go(func() { t.Run(name, f) }) }
	type want struct {
		op   fetch.Op
		path string
		at   []string // "HEAD\n" means the block after the reply line to HEAD
	}
	for _, w := range []want{
		{fetch.OpGet, "/a.b/9", []string{"", "CAPABILITIES", "CAPABILITIES\n", "MODE READER", "GROUP", "ARTICLE", "ARTICLE\n"}},
		{fetch.OpStat, "/a.b/9", []string{"HEAD", "HEAD\n"}},
		{fetch.OpStat, "/a.b", []string{"GROUP"}},
		{fetch.OpList, "/a.b", []string{"LISTGROUP", "LISTGROUP\n", "OVER", "XOVER", "HEAD", "HEAD\n"}},
		{fetch.OpStat, "/*", []string{"LIST ACTIVE"}},
		{fetch.OpList, "/*", []string{"LIST NEWSGROUPS", "LIST ACTIVE"}},
		{fetch.OpGet, "/login/9", []string{"AUTHINFO USER", "AUTHINFO PASS"}},
	} {
		for _, at := range w.at {
			for name, misbehave := range misbehaviors {
				run(fmt.Sprintf("%s of %s, %s at %q", w.op, w.path, name, at), func(t *testing.T) {
					s, err := servers.New(servers.Config{Scheme: "nntp"}, func(c *servers.Conn) {
						line, err, loggedIn := "", error(nil), false
						for err == nil {
							verb := line
							for v := range replies {
								if v != "" && strings.HasPrefix(line, v) {
									verb = v
								}
							}
							loggedIn = loggedIn || verb == "AUTHINFO PASS"
							text := replies[verb]
							if line == "GROUP login" && !loggedIn {
								text = "480 who?"
							}
							if verb+"\n" == at {
								first, _, _ := strings.Cut(text, "\r\n")
								c.Printf("%s", first)
							}
							if verb == strings.TrimSuffix(at, "\n") {
								misbehave(c)
								return
							}
							c.Printf("%s", text)
							line, err = c.ReadLine()
						}
					})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(s.Close)
					url := strings.Replace(s.URL, "://", "://joe:secret@", 1)
					if w.path == "/*" {
						url = strings.Replace(url, "nntp", "news", 1)
					}
					c := drive.Client(t, &fetch.Options{
						Timeouts: fetch.Timeouts{Reply: reply, Idle: reply},
						Policy:   &fetch.Policy{MaxSize: 1 << 20}, // articleURLs have no other limit
					}, With(Options{Newest: 2}))
					ctx, cancel := context.WithTimeout(t.Context(), most)
					defer cancel()
					body, err := drive.Read(c.Do(ctx, &fetch.Request{URL: mustParse(t, url+w.path), Op: w.op}))
					switch code := fetch.CodeOf(err); {
					case at == "LIST NEWSGROUPS" && err == nil && body == "a.b 9 1 y\r\n": // listed without descriptions
					case at == "ARTICLE\n" && code == fetch.ErrTooLarge:
					case code != fetch.ErrNetwork && code != fetch.ErrProtocol:
						t.Errorf("%q, %v", body, err)
					}
					if n := s.Accepted(); ctx.Err() != nil || n > 2 {
						t.Errorf("%v after %d connections", ctx.Err(), n)
					}
				})
			}
		}
	}
}

// TestDescriptionsAreLimited checks that groups are listed without descriptions if these are endless.
func TestDescriptionsAreLimited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		descriptions misbehavior
		reply        time.Duration
	}{
		"too large": {func(c *servers.Conn) { flood(c, "a.b about this and that\r\n") }, 0},
		"too slow":  {func(c *servers.Conn) { drip(c, "a.b about\r\n") }, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := servers.New(servers.Config{Scheme: "news"}, func(c *servers.Conn) {
				c.Printf("200 hi")
				for {
					switch line, err := c.ReadLine(); {
					case err != nil:
						return
					case line == "LIST NEWSGROUPS":
						c.Printf("215 here")
						tt.descriptions(c)
						return
					case line == "LIST ACTIVE":
						c.Printf("215 here\r\na.b 9 1 y\r\n.")
					default:
						c.Printf("500 ?")
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			var log bytes.Buffer
			c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: tt.reply}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Load)
			entries, err := drive.List(t, c, s.URL+"/*")
			if err != nil || len(entries) != 1 || entries[0].Name != "a.b" {
				t.Errorf("%+v, %v", entries, err)
			}
			if !strings.Contains(log.String(), "are omitted") {
				t.Errorf("the log: %q", log.String())
			}
		})
	}
}

// TestServersThatEndLinesWithLF retrieves lists and an article from a server that sends no CR.
func TestServersThatEndLinesWithLF(t *testing.T) {
	t.Parallel()
	s, err := servers.New(servers.Config{Scheme: "nntp"}, func(c *servers.Conn) {
		io.WriteString(c, "200 hi\n")
		for {
			line, err := c.ReadLine()
			if err != nil {
				return
			}
			reply := "500 what\n"
			switch verb, _, _ := strings.Cut(line, " "); verb {
			case "CAPABILITIES":
				reply = "101 yes\nVERSION 2\nREADER\nLIST ACTIVE\nOVER\n.\n"
			case "LIST":
				reply = "215 groups\na.b 2 1 y\na.c 0 1 y\n.\n"
			case "GROUP":
				reply = "211 2 1 2 a.b\n"
			case "OVER":
				reply = "224 overview\n1\tone\tx\t1 Mar 2020 01:02:03 GMT\t<1@b>\t\t10\t1\n2\ttwo\tx\t1 Mar 2020 01:02:03 GMT\t<2@b>\t\t10\t1\n.\n"
			case "ARTICLE":
				reply = "220 1 <1@b>\nSubject: one\n\n..dot\nend\n.\n"
			}
			io.WriteString(c, reply)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := drive.Client(t, nil, Load)
	names := func(url string) (all []string) {
		for _, e := range drive.MustList(t, c, url) {
			all = append(all, e.Name)
		}
		return all
	}
	if got := names(s.URL + "/*"); !slices.Equal(got, []string{"a.b", "a.c"}) {
		t.Errorf("groups %q", got)
	}
	if got := names(s.URL + "/a.b"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("articles %q", got)
	}
	drive.Gets(t, c, s.URL+"/a.b/1", "Subject: one\n\n.dot\nend\n")
}
