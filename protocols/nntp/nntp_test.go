package nntp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = "Path: x\nFrom: A <a@x.invalid>\nSubject: Dots =?UTF-8?Q?=C3=BC?=\nDate: Sat, 29 Feb 2020 12:34:56 +0000\n" +
	"Message-ID: <1@x.invalid>\nReferences: <0@x.invalid>\n\n.\n..\n.a\nend\n"

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// groups returns a group with n articles and two more groups.
func groups(n int) []nntpd.Group {
	g := nntpd.Group{Name: "test.a", Description: "Tests"}
	for i := range n {
		id := fmt.Sprintf("<%d@x.invalid>", i+1)
		g.Articles = append(g.Articles, nntpd.Article{ID: id, Text: strings.ReplaceAll(sample, "<1@x.invalid>", id)})
	}
	return []nntpd.Group{g, {Name: "test.empty"}, {Name: "other.b", Description: "Others"}}
}

// longGroups returns articles and overviews of more than 250 bytes.
func longGroups() []nntpd.Group {
	g := groups(3)
	g[0].Articles[0].Text += strings.Repeat("x\n", 200)
	return g
}

func TestArticleIsVerbatim(t *testing.T) {
	t.Parallel()
	for _, cfg := range []nntpd.Options{{Groups: groups(2)}, {Groups: groups(2), Legacy: true}} {
		s := nntpd.Start(t, cfg)
		c := drive.Client(t, nil, With(Options{Server: s.Addr}))
		for _, url := range []string{
			"news:1@x.invalid", "news:%3C1@x.invalid%3E", "news://" + s.Addr + "/1@x.invalid",
			"nntp://" + s.Addr + "/test.a/1", "nntp:test.a/1",
		} {
			body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(url)})
			if err != nil {
				t.Fatalf("%s: %v", url, err)
			}
			if body != crlf(sample) {
				t.Errorf("%s: got %q", url, body)
			}
			if resp.ContentType != "message/rfc822" || resp.Header.Get("From") != "A <a@x.invalid>" ||
				resp.ETag != "<1@x.invalid>" || resp.ModTime.Year() != 2020 || resp.Reply.Code != 220 {
				t.Errorf("%s: meta %+v", url, resp.Meta)
			}
		}
		if n := s.Accepted(); n != 1 {
			t.Errorf("%d connections for sequential requests", n)
		}
	}
}

func TestStatReadsTheHeaderOnly(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(1)})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	for _, url := range []string{"news:1@x.invalid", "news:test.a", "news:*"} {
		m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url)})
		if err != nil {
			t.Fatal(err)
		}
		if m.Reply.Code < 200 || m.Size != -1 {
			t.Errorf("%s: %+v", url, m)
		}
	}
	for _, cmd := range s.Log() {
		if strings.HasPrefix(cmd, "ARTICLE") || strings.HasPrefix(cmd, "OVER") {
			t.Errorf("stat sent %q", cmd)
		}
	}
}

func TestUnixLines(t *testing.T) {
	t.Parallel()
	g := groups(1)
	g[0].Articles[0].Text += "a\rb\r\n\rend"
	s := nntpd.Start(t, nntpd.Options{Groups: g})
	body, err := drive.Get(t, drive.Client(t, &fetch.Options{TextLineEnds: fetch.LineEndsLF}, With(Options{Server: s.Addr})), "news:1@x.invalid")
	if want := sample + "a\rb\n\rend\n"; err != nil || body != want {
		t.Errorf("got %q, %v; want %q", body, err, want)
	}
}

func TestUnchangedArticleIsNotRetrieved(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: groups(2)})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	_, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("nntp:test.a/1")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), &fetch.Request{URL: resp.URL, IfChanged: resp.Validator})
	if !errors.Is(err, fetch.ErrNotModified) {
		t.Errorf("got %v", err)
	}
}

func TestGroupListing(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]nntpd.Options{
		"OVER":  {Groups: groups(3)},
		"XOVER": {Groups: groups(3), Legacy: true},
		"HEAD":  {Groups: groups(3), Legacy: true, NoOverview: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nntpd.Start(t, cfg)
			c := drive.Client(t, nil, With(Options{Server: s.Addr}))
			entries, err := drive.List(t, c, "news:test.a")
			if err != nil || len(entries) != 3 {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			e := entries[1]
			o := e.Sys.(Overview)
			if e.URL.String() != "news:2@x.invalid" || e.Name != "Dots ü" || e.ModTime.Day() != 29 ||
				o.Number != 2 || o.From != "A <a@x.invalid>" || !slices.Equal(o.References, []string{"<0@x.invalid>"}) {
				t.Errorf("got %+v", e)
			}
			if body, err := drive.Get(t, c, "news:test.a"); err != nil || strings.Count(body, "\r\n") != 3 || !strings.HasPrefix(body, "1\tDots") {
				t.Errorf("body %q, %v", body, err)
			}
			entries, err = drive.List(t, c, "nntp://"+s.Addr+"/test.a")
			if err != nil || len(entries) != 3 || entries[2].URL.String() != "nntp://"+s.Addr+"/test.a/3" {
				t.Errorf("got %v, %v", entries, err)
			}
			if entries, err = drive.List(t, c, "news:test.empty"); err != nil || len(entries) != 0 {
				t.Errorf("empty group: %v, %v", entries, err)
			}
		})
	}
}

func TestGroupListingSpansRanges(t *testing.T) {
	t.Parallel()
	const n = 3*rangeSize + 17
	s := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "big", First: 101, Synthetic: n}}})
	entries, err := drive.List(t, drive.Client(t, nil, With(Options{Server: s.Addr})), "news:big")
	if err != nil || len(entries) != n {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		if o := e.Sys.(Overview); o.Number != uint64(101+i) {
			t.Fatalf("entry %d has number %d", i, o.Number)
		}
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	g := groups(40)
	for i := range 30 {
		g[0].Articles[5+i].Text = "" // cancelled
	}
	for _, c := range []struct {
		newest int
		want   []uint64
	}{{3, []uint64{38, 39, 40}}, {7, []uint64{4, 5, 36, 37, 38, 39, 40}}, {100, nil}} {
		s := nntpd.Start(t, nntpd.Options{Groups: g})
		entries, err := drive.List(t, drive.Client(t, nil, With(Options{Server: s.Addr, Newest: c.newest})), "news:test.a")
		var got []uint64
		for _, e := range entries {
			got = append(got, e.Sys.(Overview).Number)
		}
		if c.want == nil {
			if len(got) != 10 {
				t.Errorf("newest %d: %d entries", c.newest, len(got))
			}
		} else if !slices.Equal(got, c.want) {
			t.Errorf("newest %d: got %v, %v", c.newest, got, err)
		}
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	g := groups(3)
	g[0].Articles[1].Text = strings.Replace(sample, "29 Feb 2020", "29 Feb 2024", 1)
	g[0].Articles[2].Text = strings.Replace(sample, "29 Feb 2020", "32 Foo", 1)
	s := nntpd.Start(t, nntpd.Options{Groups: g})
	c := drive.Client(t, nil, With(Options{Server: s.Addr, Since: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)}))
	entries, err := drive.List(t, c, "news:test.a")
	if err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v", entries, err)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{false, true} {
		s := nntpd.Start(t, nntpd.Options{Groups: groups(3), Legacy: legacy})
		c := drive.Client(t, nil, Load)
		for pattern, want := range map[string][]string{
			"*":      {"test.a", "test.empty", "other.b"},
			"":       {"test.a", "test.empty", "other.b"},
			"test.*": {"test.a", "test.empty"},
			"*.?":    {"test.a", "other.b"},
		} {
			entries, err := drive.List(t, c, "news://"+s.Addr+"/"+pattern)
			var got []string
			for _, e := range entries {
				got = append(got, e.Name)
				if want := "news://" + s.Addr + "/" + e.Name; e.URL.String() != want || e.Kind != fetch.EntryListing {
					t.Errorf("%s: %s leads to %s", pattern, e.Name, e.URL)
				}
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("legacy %v, %q: got %v, %v", legacy, pattern, got, err)
			}
		}
		entries, _ := drive.List(t, c, "news://"+s.Addr+"/*")
		want := Group{Name: "test.a", Low: 1, High: 3, Count: 3, Status: "y", Description: "Tests"}
		if got := entries[0].Sys; got != want {
			t.Errorf("got %+v", got)
		}
	}
}

func TestTruncatedAndStalledResponses(t *testing.T) {
	t.Parallel()
	for fault, want := range map[servers.Fault]error{servers.Cut: fetch.ErrTruncated, servers.Stall: fetch.ErrNetwork} {
		s := nntpd.Start(t, nntpd.Options{Groups: longGroups()})
		s.Arm(servers.Failure{Fault: fault, After: 250, Times: -1})
		o := &fetch.Options{}
		if fault == servers.Stall {
			o.Timeouts.Idle = 50 * time.Millisecond
		}
		c := drive.Client(t, o, With(Options{Server: s.Addr}))
		for _, url := range []string{"news:1@x.invalid", "news:test.a"} {
			if _, err := drive.Get(t, c, url); !errors.Is(err, want) {
				t.Errorf("%v, %s: %v", fault, url, err)
			}
		}
		if _, err := drive.List(t, c, "news:test.a"); !errors.Is(err, want) {
			t.Errorf("%v: %v", fault, err)
		}
	}
}

func TestCancelledAndClosedBodies(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{Groups: longGroups()})
	s.Arm(servers.Failure{Fault: servers.Stall, After: 250, Times: -1})
	c := drive.Client(t, nil, With(Options{Server: s.Addr, MaxConns: 1}))
	for _, url := range []string{"news:1@x.invalid", "news:test.a"} {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := c.Do(ctx, &fetch.Request{URL: mustParse(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", url, err)
		}
		resp.Body.Close()

		if resp, err = c.Get(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Millisecond, func() { resp.Body.Close() })
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: a closed body: %v", url, err)
		}
	}
}

func mustParse(t testing.TB, s string) uri.URI {
	t.Helper()
	u, err := uri.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
