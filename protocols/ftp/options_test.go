package ftp

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// asks returns credentials that always return cred.
func asks(cred fetch.Credential) fetch.Credentials {
	return provider(func(fetch.Challenge) (fetch.Credential, error) { return cred, nil })
}

func provider(answer func(fetch.Challenge) (fetch.Credential, error)) fetch.Credentials {
	return fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) { return answer(ch) })
}

// TestText checks line endings: they are unchanged unless local ones are requested.
func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, url, want string
		opts            Options
		ends            fetch.LineEnds
	}{
		{"as it comes", "/pub/a.txt;type=a", "one\r\ntwo\r\n", Options{}, ""},
		{"local", "/pub/a.txt;type=a", "one\ntwo\n", Options{}, fetch.LineEndsLF},
		{"image", "/pub/a.txt", "one\r\ntwo\r\n", Options{}, fetch.LineEndsLF},
		{"guessed", "/pub/a.txt", "one\ntwo\n", Options{GuessType: true}, fetch.LineEndsLF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small})
			c := drive.Client(t, &fetch.Options{TextLineEnds: tt.ends}, With(tt.opts))
			drive.Gets(t, c, "ftp://"+s.Addr+tt.url, tt.want)
		})
	}
}

// TestGuessDir checks that a directory is listed only on request.
func TestGuessDir(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	drive.Fails(t, drive.Client(t, nil, Load), "ftp://"+s.Addr+"/pub/sub", fetch.ErrRefused)
	c := drive.Client(t, nil, With(Options{GuessDir: true}))
	_, resp, err := drive.Do(t, c, request(fetch.OpGet, "ftp://"+s.Addr+"/pub/sub"))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Kind != fetch.KindListing || resp.URL.String() != "ftp://"+s.Addr+"/pub/sub/" {
		t.Errorf("%v at %s", resp.Kind, resp.URL)
	}
	drive.Fails(t, c, "ftp://"+s.Addr+"/pub/none", fetch.ErrNotFound) // a missing file
}

// TestPattern checks the matches of an asterisk, and that each of their URLs names one file.
func TestPattern(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, Load)
	root := "ftp://" + s.Addr
	for _, tt := range []struct {
		url  string
		want []string // below root; nil for not found
	}{
		{"/pub/*", []string{"/pub/a.txt", "/pub/b.txt", "/pub/c%2A.bin", "/pub/sub/"}},
		{"/pub/*.txt;type=a", []string{"/pub/a.txt;type=a", "/pub/b.txt;type=a"}},
		{"/pub/*%2A*", []string{"/pub/c%2A.bin"}},
		{"/pub/?.txt*", nil}, // RFC 1738: "?" is a character like others
	} {
		var got []string
		var failed error
		for e, err := range c.List(t.Context(), root+tt.url) {
			if failed = err; err != nil {
				break
			}
			if e.Rel != "match" {
				t.Errorf("%s: Rel is %q", e.URL, e.Rel)
			}
			got = append(got, strings.TrimPrefix(e.URL.String(), root))
		}
		if !slices.Equal(got, tt.want) || (fetch.CodeOf(failed) == fetch.ErrNotFound) != (tt.want == nil) || tt.want != nil && failed != nil {
			t.Errorf("%s leads to %q, %v, want %q", tt.url, got, failed, tt.want)
		}
		body, err := drive.Get(t, c, root+tt.url)
		var list strings.Builder
		for _, u := range tt.want {
			list.WriteString(root + u + "\r\n")
		}
		if body != list.String() || (fetch.CodeOf(err) == fetch.ErrNotFound) != (tt.want == nil) || tt.want != nil && err != nil {
			t.Errorf("%s delivers %q, %v", tt.url, body, err)
		}
	}
	for _, op := range []fetch.Op{fetch.OpGet, fetch.OpList} {
		for path, want := range map[string]bool{"/pub/*": true, "/pub/": false} {
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(root + path), Op: op})
			if err != nil || resp.Pattern != want {
				t.Errorf("%v of %s: %+v, %v", op, path, resp, err)
				continue
			}
			resp.Body.Close()
		}
	}
	drive.MustGet(t, c, root+"/pub/c%2A.bin")
	if _, _, err := drive.Do(t, c, request(fetch.OpStat, root+"/pub/*")); !errors.Is(err, fetch.ErrNotRetrievable) {
		t.Errorf("stat of a pattern: %v", err)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "a", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "aa", true}, {"a*a", "a", false},
		{"a*a", "aa", true}, {"*b*", "abc", true}, {"*b*b*", "abc", false}, {"a*b*c", "aXbYc", true}, {"a*bc*c", "abc", false},
	} {
		if got := matches(strings.Split(tt.pattern, "*"), tt.name); got != tt.want {
			t.Errorf("%q and %q: %v", tt.pattern, tt.name, got)
		}
	}
}

// TestConditions checks the decisions before a transfer.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, Load)
	u := "ftp://" + s.Addr + "/motd"
	_, resp, err := drive.Do(t, c, request(fetch.OpGet, u))
	if err != nil {
		t.Fatal(err)
	}
	now := resp.Validator
	if now.ETag == "" || !now.ModTime.Equal(modTime) {
		t.Fatalf("validator %v", now)
	}
	older := fetch.Validator{ETag: "9-19700101000000"}
	for _, tt := range []struct {
		name  string
		known fetch.Validator
		part  fetch.Range
		body  string
		got   fetch.Range
		err   fetch.Code
	}{
		{name: "same", known: now, err: fetch.ErrNotModified},
		{name: "same time", known: fetch.Validator{ModTime: modTime}, err: fetch.ErrNotModified},
		{name: "changed", known: older, body: welcome},
		{name: "rest of the same", known: now, part: fetch.Range{Offset: 3}, body: "come.\n", got: fetch.Range{Offset: 3}},
		{name: "rest of another", known: older, part: fetch.Range{Offset: 3}, body: welcome},
		{name: "middle", part: fetch.Range{Offset: 3, Length: 4}, body: "come", got: fetch.Range{Offset: 3, Length: 4}},
		{name: "to the end and beyond", part: fetch.Range{Offset: 3, Length: 400}, body: "come.\n", got: fetch.Range{Offset: 3, Length: 400}},
		{name: "beginning", part: fetch.Range{Length: 3}, body: "Wel", got: fetch.Range{Length: 3}},
		{name: "nothing left", part: fetch.Range{Offset: 9}, body: "", got: fetch.Range{Offset: 9}},
		{name: "beyond the end", part: fetch.Range{Offset: 10}, err: fetch.ErrRange},
	} {
		req := request(fetch.OpGet, u)
		req.IfChanged, req.Range = tt.known, tt.part
		body, resp, err := drive.Do(t, c, req)
		if body != tt.body || fetch.CodeOf(err) != tt.err {
			t.Errorf("%s: %q, %v", tt.name, body, err)
		}
		if err == nil && (resp.Range != tt.got || resp.Size != int64(len(tt.body))) {
			t.Errorf("%s: range %v, size %d", tt.name, resp.Range, resp.Size)
		}
	}
}

// TestMediaType guesses types by names, because FTP has none.
func TestMediaType(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, Load)
	for path, want := range map[string]string{
		"/pub/a.txt": "text/plain", "/pub/c%2A.bin": "", "/motd": "", "/motd;type=a": "text/plain",
	} {
		for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat} {
			_, resp, err := drive.Do(t, c, request(op, "ftp://"+s.Addr+path))
			if err != nil || resp.ContentType != want {
				t.Errorf("%s %s: %+v, %v", op, path, resp, err)
			}
		}
	}
	for e, err := range c.List(t.Context(), "ftp://"+s.Addr+"/pub/") {
		want := map[string]string{"a.txt": "text/plain", "b.txt": "text/plain"}[e.Name]
		if err != nil || e.ContentType != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

// TestRangesShareAConnection retrieves the beginning and the middle of a large file. The server
// reports the closed data connection, and its reply makes the control connection usable again.
func TestRangesShareAConnection(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789"), 2<<20)
	for name, opts := range map[string]struct {
		client Options
		server ftpd.Options
	}{
		"passive":                {},
		"active":                 {client: Options{Active: true}},
		"one command at a time":  {client: Options{Pipelining: PipeliningOff}},
		"TLS":                    {client: Options{TLS: TLSRequire}, server: ftpd.Options{TLS: serverTLS(0)}},
		"nothing left to report": {server: ftpd.Options{Tree: fstest.MapFS{"large": {Data: large[:200], ModTime: modTime}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if opts.server.Tree == nil {
				opts.server.Tree = fstest.MapFS{"large": {Data: large, ModTime: modTime}}
			}
			s := ftpd.Start(t, opts.server)
			c := drive.Client(t, trusting(), With(opts.client))
			for offset := range int64(5) {
				req := request(fetch.OpGet, "ftp://"+s.Addr+"/large")
				req.Range = fetch.Range{Offset: 10 * offset, Length: 10}
				if body, _, err := drive.Do(t, c, req); err != nil || body != "0123456789" {
					t.Errorf("%d: %q, %v", offset, body, err)
				}
			}
			if n := s.Logins(); n != 1 {
				t.Errorf("%d logins, want 1", n)
			}
		})
	}
}

// TestSilenceAfterARange has a server that does not report the closed data connection. The range is
// complete, and the next request takes a new connection.
func TestSilenceAfterARange(t *testing.T) {
	t.Parallel()
	const begin = "S: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\nC: TYPE I\nS: 200 ok\nC: SIZE a\nS: 213 9\nC: MDTM a\nS: 500 ?\n"
	for name, end := range map[string]string{"silent": "S!stall\n", "closed": "S!close\n", "421": "S: 421 bye\n",
		"a stray reply": "S: 200 ok\nC: PWD\nS!stall\n", "replies without end": "S: 426 a\nC: PWD\nS: 226 b\nS: 226 c\nS: 226 d\nS: 226 e\nS!stall\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := transcript.Play(t, "-- first --\n"+begin+"C: EPSV\nS: 229 ok ($EPSV{data})\nC: RETR a\nS: 150 here\nS!wait data\nC: ABOR\n"+end+
				"-- data --\nS\"Welcome.\\n\"\nC!close\n-- second --\n"+begin+"C? QUIT\n")
			c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOff}))
			req := request(fetch.OpGet, "ftp://"+addr+"/a")
			req.Range.Length = 3
			if body, _, err := drive.Do(t, c, req); err != nil || body != "Wel" {
				t.Errorf("%q, %v", body, err)
			}
			if m, err := c.Stat(t.Context(), request(fetch.OpStat, "ftp://"+addr+"/a")); err != nil || m.Size != 9 {
				t.Errorf("%+v, %v", m, err)
			}
			c.Close()
		})
	}
}
