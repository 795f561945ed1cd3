package prospero_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/internal/codec/ardp"
	"github.com/urlget/urlget/protocols/prospero"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick has short retransmission intervals, for servers on the same machine.
var quick = prospero.With(prospero.Options{First: 20 * time.Millisecond, Tries: 8})

// steady has longer intervals. If a slow machine repeated requests, the replies could exceed limits. After
// a cut the retransmissions take 3 seconds.
var steady = prospero.With(prospero.Options{First: time.Second, Tries: 1})

func listen(t testing.TB) net.PacketConn {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func url(addr, name string) string {
	host, _, _ := net.SplitHostPort(addr)
	u := uri.MustParse("prospero://" + addr)
	return uri.Must(uri.Prospero{Host: host, Port: u.Port(0), HSOName: name}.URI()).String()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := prosperod.Start(t, prosperod.Options{Tree: tree})
			return fetchtest.Site{
				Load: steady,
				URL: func(name string) string {
					if name == "." {
						return url(s.Addr, "/")
					}
					return url(s.Addr, "/"+name)
				},
				Log:   s.Log,
				Fault: s.Fail,
				Can:   s.Can,
			}
		},
	})
}

func TestEntryURLs(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Links: map[string][]string{"/links": {
		"LINK  L EXTERNAL ftpfile INTERNET-D ftp.example ASCII '/pub/x y.txt' 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY",
		"LINK L EXTERNAL full INTERNET-D FTP.EXAMPLE ASCII /etc/motd 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD FTP '' '' '' '' TEXT",
		"LINK L EXTERNAL menu INTERNET-D gopher.example(7070) ASCII 1/docs 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD GOPHER '' '' '' ''",
		"LINK L EXTERNAL search INTERNET-D g.example ASCII /find 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD GOPHER '' '' '' '' 7",
		"LINK L EXTERNAL db INTERNET-D wais.example ASCII fruit 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD WAIS '' '' '' ''",
		"LINK L EXTERNAL session INTERNET-D host.example(2323) ASCII '' 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD TELNET '' '' '' ''",
		"LINK L EXTERNAL nothing INTERNET-D h.example ASCII x 0",
		"ATTRIBUTE CACHED FIELD ACCESS-METHOD LOCAL '' '' '' ''",
		"LINK L DIRECTORY sub INTERNET-D PFS.EXAMPLE(11526) ASCII '/srv/it''s' 3",
		"LINK L FILE plain INTERNET-D PFS.EXAMPLE ASCII /srv/plain 0",
		"ATTRIBUTE OBJECT INTRINSIC SIZE SEQUENCE 116' bytes'",
		"ATTRIBUTE OBJECT INTRINSIC LAST-MODIFIED SEQUENCE 19940102030405Z",
		"LINK L FILE 'line\nfeed' INTERNET-D PFS.EXAMPLE ASCII '/srv/line\nfeed' 0",
		"LINK L EXTERNAL(AFTP,BINARY) old INTERNET-D ftp.example ASCII /pub/old 0",
	}}})
	got := map[string]string{}
	for _, e := range drive.MustList(t, drive.Client(t, nil, quick), url(s.Addr, "/links")) {
		got[e.Name] = e.Kind.String() + " " + e.URL.String()
		if e.Name == "plain" && (e.Size != 116 || !e.ModTime.Equal(time.Date(1994, 1, 2, 3, 4, 5, 0, time.UTC))) {
			t.Errorf("size %d and time %v", e.Size, e.ModTime)
		}
	}
	want := map[string]string{
		"ftpfile":    "object ftp://ftp.example/pub/x%20y.txt;type=i",
		"full":       "object ftp://ftp.example/%2Fetc/motd;type=a",
		"menu":       "object gopher://gopher.example:7070/1/docs",
		"search":     "object gopher://g.example/7/find",
		"db":         "object wais://wais.example/fruit",
		"session":    "session telnet://host.example:2323/",
		"nothing":    "text ",
		"sub":        "listing prospero://pfs.example:11526//srv/it's;OBJECT-VERSION=3",
		"plain":      "object prospero://pfs.example//srv/plain",
		"line\nfeed": "error ",
		"old":        "object ftp://ftp.example/pub/old;type=i",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{
		Tree:       fstest.MapFS{"here.txt": {Data: []byte("it's here")}},
		Attributes: map[string][]string{"/away": {"ATTRIBUTE CACHED FIELD ACCESS-METHOD GOPHER INTERNET-D g.example ASCII 0/away ''"}},
		Forward:    map[string]string{"/moved": "INTERNET-D $HOST ASCII /here.txt 0"},
	})
	gopher := fetch.Use("gopher", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader(req.URL.String()))}, nil
	}))
	c := drive.Client(t, nil, quick, gopher)
	for name, want := range map[string]string{"/moved": "it's here", "/away": "gopher://g.example/0/away"} {
		resp, err := c.Get(t.Context(), url(s.Addr, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != want || err != nil || len(resp.Via) != 1 {
			t.Errorf("%s: %q, %v, by way of %v", name, body, err, resp.Via)
		}
	}
}

func TestVersion1(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"pub/pear.txt": {Data: make([]byte, 116)}}, Version1: true})
	var got []string
	for e, err := range drive.Client(t, nil, quick).List(t.Context(), url(s.Addr, "/pub")) {
		if err != nil || e.Size != 116 {
			t.Errorf("%v, %v", e, err)
		}
		got = append(got, e.Name)
	}
	if want := []string{"pear.txt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMissingObjects(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"dir/x": {}}})
	c := drive.Client(t, nil, quick)
	for u, code := range map[string]fetch.Code{
		url(s.Addr, "/none"):                  fetch.ErrNotFound,
		"prospero:///dir":                     fetch.ErrURL,
		"prospero://" + s.Addr + "/dir%00":    fetch.ErrURL,
		"prospero://" + s.Addr + "/dir%0Ax":   fetch.ErrURL,
		"prospero://" + unused(t) + "//dir":   fetch.ErrNetwork,
		"prospero://" + s.Addr + "//dir;type": fetch.ErrURL,
	} {
		if _, err := c.Get(t.Context(), u); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", u, err, code)
		}
	}
	for _, err := range c.List(t.Context(), url(s.Addr, "/dir/x")) {
		if !errors.Is(err, fetch.ErrNotRetrievable) {
			t.Errorf("listing a file: %v", err)
		}
	}
}

func TestMalformedReplies(t *testing.T) {
	t.Parallel()
	const (
		none = "FAILURE NOT-A-DIRECTORY\n"
		head = "ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA "
	)
	for _, tt := range []struct{ name, list, info string }{
		{"nothing known", "HTTP/1.0 200 OK\n\nhello\n", ""},
		{"a link without its end", "LINK L 'FILE x", ""},
		{"nothing known of the file", none, "HTTP/1.0 200 OK\n"},
		{"a word without its end", none, "ATTRIBUTE 'OBJECT INTRINSIC"},
		{"a file without its end", none, head + "'all that there is"},
		{"no directory, where a file is wanted", none, none},
		{"an older version, twice", "VERSION-NOT-SUPPORTED\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, err := drive.Client(t, nil, quick).Get(t.Context(), url(replyServer(t, tt.list, tt.info), "/file"))
			switch {
			case err != nil:
			case resp.Entries != nil:
				for _, e := range resp.Entries {
					err = e
				}
				resp.Body.Close()
			default:
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if !errors.Is(err, fetch.ErrProtocol) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestLinesBehindContents checks that a file counts as complete only if the message does not report a failure
// after it.
func TestLinesBehindContents(t *testing.T) {
	t.Parallel()
	const head = "ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA 'the content'"
	for rest, code := range map[string]fetch.Code{
		"": "", "\n": "", " \n\nWARNING 'slow disk'\n": "", "\nATTRIBUTE OBJECT INTRINSIC SIZE ASCII '13 bytes'": "", "\nWHATEVER\n": "",
		"\nFAILURE SERVER-FAILED 'read error'\n": fetch.ErrServer,
		"\nFAILURE NOT-AUTHORIZED":               fetch.ErrRefused,
		"\nERROR 'bad request'\n":                fetch.ErrProtocol,
		" 'and more'\n":                          fetch.ErrProtocol,
		"\nWARNING 'without its end":             fetch.ErrProtocol,
	} {
		addr := replyServer(t, "FAILURE NOT-A-DIRECTORY\n", head+rest)
		got, err := drive.Get(t, drive.Client(t, nil, quick), url(addr, "/file"))
		if got != "the content" || fetch.CodeOf(err) != code {
			t.Errorf("%q: %q, %v, want class %q", rest, got, err, code)
		}
	}
}

func TestForwardedToAnInvalidHost(t *testing.T) {
	t.Parallel()
	const invalidHost = "FORWARDED INTERNET-D 'no host' ASCII /x 0\n"
	server := replyServer(t, invalidHost, invalidHost)
	if _, err := drive.Client(t, nil, quick).Get(t.Context(), url(server, "/file")); !errors.Is(err, fetch.ErrRedirect) {
		t.Errorf("error %v", err)
	}
}

// replyServer returns the address of a server that sends the reply list to each LIST, and info to each
// GET-OBJECT-INFO.
func replyServer(t *testing.T, list, info string) string {
	conn := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			h, request, err := ardp.Parse(buf[:n])
			if err != nil {
				t.Error(err)
				continue
			}
			reply := list
			if strings.Contains(string(request), "GET-OBJECT-INFO") {
				reply = info
			}
			for _, packet := range ardp.ReplyPackets(h.CID, []byte(reply)) {
				conn.WriteTo(packet, from)
			}
		}
	})
	t.Cleanup(func() {
		conn.Close()
		wg.Wait()
	})
	return conn.LocalAddr().String()
}

// unused returns a loopback address without a listener.
func unused(t *testing.T) string {
	conn := listen(t)
	defer conn.Close()
	return conn.LocalAddr().String()
}

func TestExplain(t *testing.T) {
	t.Parallel()
	x, err := drive.Client(t, nil, quick).Explain(&fetch.Request{URL: uri.MustParse("prospero://h//srv/pub/pear.txt;object-version=2")})
	if err != nil || !strings.Contains(strings.Join(x.Steps, "\n"), "GET-OBJECT-INFO CONTENTS ASCII /srv/pub/pear.txt 2") {
		t.Errorf("%q, %v", x.Steps, err)
	}
}

// TestUnionLinks checks that a union link is replaced with the members of its directory.
func TestUnionLinks(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"other/pear.txt": {Data: []byte("pear")}, "other/plum.txt": {Data: []byte("plum")}}
	addr := unused(t) // the links need the address before the server starts
	place := "INTERNET-D 127.0.0.1(" + addr[strings.LastIndexByte(addr, ':')+1:] + ") ASCII "
	s := prosperod.Start(t, prosperod.Options{Tree: tree, Listen: addr, Links: map[string][]string{
		"/union": {"LINK L FILE own " + place + "/own 0", "LINK U DIRECTORY part " + place + "/other 0",
			"LINK U DIRECTORY gone " + place + "/nowhere 0", "LINK L FILE last " + place + "/last 0"},
		"/loop": {"LINK U DIRECTORY again " + place + "/loop 0"},
	}})
	c := drive.Client(t, nil, quick)
	var names []string
	for _, e := range drive.MustList(t, c, url(s.Addr, "/union")) {
		names = append(names, e.Name)
	}
	want := []string{"own", "pear.txt", "plum.txt", "gone", "a part of the directory cannot be listed: gone", "last"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	n := 0
	for range c.List(t.Context(), url(s.Addr, "/loop")) {
		n++
	}
	if n != 2 { // the link and the reason
		t.Errorf("a union with itself has %d entries", n)
	}
}

func TestModTime(t *testing.T) {
	t.Parallel()
	when := time.Date(1994, 1, 2, 3, 4, 5, 0, time.UTC)
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"a.txt": {Data: []byte("abc"), ModTime: when}}})
	c := drive.Client(t, nil, quick)
	resp, err := c.Get(t.Context(), url(s.Addr, "/a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "abc" || err != nil || !resp.ModTime.Equal(when) {
		t.Errorf("%q of %v, %v", body, resp.ModTime, err)
	}
}

// TestAttributesAreBounded checks the limit of the attributes of one object.
func TestAttributesAreBounded(t *testing.T) {
	t.Parallel()
	for _, attribute := range []string{"CACHED FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY", "OBJECT INTRINSIC X%d SEQUENCE value"} {
		lines := []string{"LINK L FILE a INTERNET-D h.example ASCII /a 0"}
		for i := range 20_000 {
			lines = append(lines, "ATTRIBUTE "+strings.ReplaceAll(attribute, "%d", strconv.Itoa(i)))
		}
		s := prosperod.Start(t, prosperod.Options{Links: map[string][]string{"/links": lines}, Attributes: map[string][]string{"/object": lines[1:]}})
		c := drive.Client(t, nil, quick)
		var last error
		for _, err := range c.List(t.Context(), url(s.Addr, "/links")) {
			last = err
		}
		if !errors.Is(last, fetch.ErrProtocol) {
			t.Errorf("List: %v", last)
		}
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url(s.Addr, "/object"))}); !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("Stat: %v", err)
		}
	}
}

// TestReplyTimeout checks that packets without progress do not extend the reply timeout.
func TestReplyTimeout(t *testing.T) {
	t.Parallel()
	for name, packet := range map[string]func(cid uint16) []byte{
		"rubbish":        func(uint16) []byte { return []byte("\xff\xff what?") },
		"wait":           func(cid uint16) []byte { return ardp.WaitPacket(cid, 900) },
		"a packet again": func(cid uint16) []byte { return ardp.ReplyPacket(cid, 1, 0, []byte("LINK ")) },
		"acknowledge":    func(cid uint16) []byte { return ardp.Acknowledgement(cid, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := listen(t)
			done := make(chan struct{})
			t.Cleanup(func() { conn.Close(); <-done })
			go func() {
				defer close(done)
				var buf [2048]byte
				for {
					n, from, err := conn.ReadFrom(buf[:])
					if err != nil {
						return
					}
					h, _, _ := ardp.Parse(buf[:n])
					conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
					for err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
						conn.WriteTo(packet(h.CID), from)
						conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
						_, _, err = conn.ReadFrom(buf[:])
					}
				}
			}()
			var log strings.Builder
			c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: 300 * time.Millisecond},
				Logger: slog.New(slog.NewTextHandler(&log, nil))}, quick)
			start := time.Now()
			_, err := drive.Get(t, c, url(conn.LocalAddr().String(), "/a"))
			if took := time.Since(start); took > 15*time.Second || fetch.CodeOf(err) != fetch.ErrNetwork && fetch.CodeOf(err) != fetch.ErrTruncated {
				t.Errorf("ended after %v with %v", took, err)
			}
			if name == "wait" && (!strings.Contains(log.String(), "wait of 15m0s") || !strings.Contains(err.Error(), "wait of 15m0s")) {
				t.Errorf("the wait is not reported: log %q, error %v", log.String(), err)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"a.txt": {Data: []byte("abc\nATTRIBUTE x\n")}}})
	var mu sync.Mutex
	var lines []string
	c := drive.Client(t, &fetch.Options{Recorder: fetch.RecordLines(func(sent bool, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, map[bool]string{true: "> ", false: "< "}[sent]+line)
	})}, quick)
	resp, err := c.Get(t.Context(), url(s.Addr, "/a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	got := strings.Join(lines, "\n")
	for _, want := range []string{"> LIST ATTRIBUTES COMPONENTS *", "< FAILURE NOT-A-DIRECTORY", "> GET-OBJECT-INFO CONTENTS ASCII /a.txt 0",
		"< ATTRIBUTE OBJECT INTRINSIC SIZE SEQUENCE 16' bytes'", "< ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA (contents)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "abc") {
		t.Errorf("the trace has the contents:\n%s", got)
	}
}
