package nntp

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

func TestParseOverview(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "", "x\ty": "", "0\ta": "", "-1\ta": "", "5": "5", "5\tonly": "5 only",
		"18446744073709551616\ta": "",
	} {
		o, ok := ParseOverview([]byte(line))
		got := ""
		if ok {
			got = strings.TrimSpace(string(overviewLine(o.Number, nil)[:1]) + " " + o.Subject)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
	o, ok := ParseOverview([]byte(nntpd.SyntheticOverview("g", 7)))
	if !ok || o.Number != 7 || o.Bytes != 2007 || o.Lines != 27 || len(o.References) != 2 || o.Xref != "news.example.invalid g:7" {
		t.Errorf("got %+v", o)
	}
	if o, ok = ParseOverview([]byte("7\ts\tf\td\t<i>\t\tx\t-4")); !ok || o.Bytes != -1 || o.Lines != -1 || o.References != nil {
		t.Errorf("got %+v", o)
	}
}

func TestWildmat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"a*", "abc", true}, {"a*c", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"a.*,!a.b", "a.b", false}, {"a.*,!a.b", "a.c", true}, {"!a,*", "a", true}, {"*.b.*", "a.b.b.c", true},
		{"abc", "ab", false}, {"", "a", false}, {"*a*a*a*b", strings.Repeat("a", 1000), false},
	} {
		if got := matchWildmat(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: got %v", c.pattern, c.name, got)
		}
	}
}

func FuzzOverview(f *testing.F) {
	f.Add([]byte(nntpd.SyntheticOverview("g", 7)))
	f.Add([]byte("1\t\t\t\t\t\t\t"))
	f.Add([]byte("1\t=?utf-8?q?x?=\tf\tSat, 29 Feb 2020 12:34:56 +0000\t<a@b>\t<c> <d>\t-1\t9\tXref:"))
	t := &target{Server: mailsession.Server{Host: "h", Port: 119}, group: "g", hasHost: true}
	f.Fuzz(func(tt *testing.T, line []byte) {
		o, ok := ParseOverview(line)
		if !ok {
			return
		}
		if o.Number == 0 || o.Bytes < -1 || o.Lines < -1 {
			tt.Errorf("got %+v", o)
		}
		dateOf(line)
		for _, scheme := range []string{"news", "nntp"} {
			t.url = mustParse(tt, scheme+"://h/g")
			e := t.articleEntry(o)
			if e.URL.IsZero() || strings.ContainsAny(e.URL.String(), "\r\n\x00 ") {
				tt.Errorf("entry leads to %q", e.URL)
			}
		}
	})
}

// FuzzArticle retrieves an article from a server that sends arbitrary replies to ARTICLE. A body that
// is complete must be the dot-unstuffed reply.
func FuzzArticle(f *testing.F) {
	f.Add([]byte("220 0 <a@b>\r\nA: b\r\n\r\n..\r\n.\r\n"))
	f.Add([]byte("220 0\r\n.\r\n"))
	f.Add([]byte("220 0\r\nA: b\n.\n\r\n.\r\n205 more"))
	f.Add([]byte("430 no\r\n"))
	f.Add([]byte("220"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		s, err := servers.New(servers.Config{Scheme: "news"}, func(c *servers.Conn) {
			c.Write([]byte("200 hi\r\n500 no\r\n500 no\r\n"))
			c.Write(reply)
			c.CloseWrite()
			c.Wait()
		})
		if err != nil {
			t.Skip(err)
		}
		defer s.Close()
		c := fetch.New(nil, Load)
		resp, err := c.Get(t.Context(), s.URL+"/a@b")
		if err == nil {
			var body []byte
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil {
				_, block, _ := bytes.Cut(reply, []byte("\n"))
				block, _, ended := bytes.Cut(append([]byte("\r\n"), block...), []byte("\r\n.\r\n"))
				want := bytes.ReplaceAll(append(block, "\r\n"...), []byte("\r\n."), []byte("\r\n"))[2:]
				if !ended || !bytes.Equal(body, want) {
					t.Errorf("got %q of %q", body, reply)
				}
			}
		}
		c.Close()
	})
}
