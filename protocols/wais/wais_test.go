package wais_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/internal/codec/apdu"
	"github.com/urlget/urlget/protocols/wais"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, tree fs.FS) *waisd.Server {
	t.Helper()
	return waisd.Start(t, waisd.Options{Tree: tree})
}

// mounted mounts a tree in a directory, because the server's databases are directories.
type mounted struct {
	name string
	tree fs.FS
}

func (b mounted) Open(name string) (fs.File, error) {
	switch rest, ok := strings.CutPrefix(name, b.name+"/"); {
	case ok:
		return b.tree.Open(rest)
	case name == b.name:
		return b.tree.Open(".")
	}
	return fstest.MapFS{b.name: {Mode: fs.ModeDir}}.Open(name)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := start(t, mounted{"db", tree})
			return fetchtest.Site{
				Load: wais.Load,
				URL: func(name string) string {
					if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
						return "" // databases have no subdirectories
					}
					return s.Document("db", name)
				},
				Log: s.Log,
				// Messages are not lines: identifiers and words have a length prefix.
				Escaped: true,
				Fault:   s.Fail,
			}
		},
	})
}

var library = fstest.MapFS{
	"fruit/pear.txt":  {Data: []byte("Pears\nA pear is a fruit.\n")},
	"fruit/logo.gif":  {Data: []byte("GIF89a pear\x00\xff")},
	"fruit/empty.txt": {},
	"tools/saw.txt":   {Data: []byte(strings.Repeat("0123456789", 2500))},
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	got := map[string]string{}
	for _, e := range drive.MustList(t, c, "wais://"+s.Addr+"/fruit?pear") {
		got[e.Name] = e.ContentType
		if body := drive.MustGet(t, c, e.URL.String()); int64(len(body)) != e.Size {
			t.Errorf("%s: %d bytes; the entry says %d", e.Name, len(body), e.Size)
		}
	}
	if want := map[string]string{"pear.txt   /fruit": "text/plain", "logo.gif   /fruit": "image/gif"}; !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSearchWithoutResults(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	for e, err := range c.List(t.Context(), "wais://"+s.Addr+"/fruit?zebra") {
		t.Errorf("%v, %v", e, err)
	}
}

func TestListDatabases(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	var names []string
	for _, e := range drive.MustList(t, c, "wais://"+s.Addr+"/") {
		names = append(names, e.Name+" "+e.ContentType)
	}
	want := []string{"Information on database: fruit application/x-wais-source", "Information on database: tools application/x-wais-source"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestDatabaseDescription(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("wais://" + s.Addr + "/fruit")})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(body, "(:source") || resp.ContentType != "application/x-wais-source" || resp.Name != "fruit.src" {
		t.Errorf("%q, %v as %s named %q", body, err, resp.ContentType, resp.Name)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	for name, tt := range map[string]struct {
		url  string
		code fetch.Code
	}{
		"a database":           {"wais://" + s.Addr + "/none", fetch.ErrNotFound},
		"a database to search": {"wais://" + s.Addr + "/none?x", fetch.ErrNotFound},
		"a document":           {s.Document("fruit", "plum.txt"), fetch.ErrNotFound},
		"an identifier":        {"wais://" + s.Addr + "/fruit/TEXT/rubbish", fetch.ErrNotFound},
		"no identifier":        {"wais://" + s.Addr + "/fruit/TEXT/", fetch.ErrURL},
	} {
		if resp, err := c.Get(t.Context(), tt.url); !errors.Is(err, tt.code) {
			t.Errorf("%s: %v, %v; want %v", name, resp, err, tt.code)
		}
	}
}

func TestRangeBeyondTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	for offset, want := range map[int64]error{25: fetch.ErrRange, 26: fetch.ErrRange, 24: nil} {
		resp, err := c.Do(t.Context(), &fetch.Request{
			URL: uri.MustParse(s.Document("fruit", "pear.txt")), Range: fetch.Range{Offset: offset}})
		if !errors.Is(err, want) {
			t.Errorf("offset %d: %v, want %v", offset, err, want)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

func TestAcceptSelectsTheType(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	u := uri.MustParse(strings.Replace(s.Document("fruit", "pear.txt"), "/TEXT/", "/PS,TEXT/", 1))
	for accept, want := range map[string]string{
		"": "application/postscript", "text/plain": "text/plain", "image/gif": "application/postscript"} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: u, Accept: []string{accept}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.ContentType != want {
			t.Errorf("Accept %q got %s, want %s", accept, resp.ContentType, want)
		}
	}
}

// serveOnce starts a server that sends one of the packets after each request on a connection.
func serveOnce(t *testing.T, packets ...[]byte) (addr string) {
	t.Helper()
	return servers.Start(t, servers.Config{}, func(c *servers.Conn) {
		for _, a := range packets {
			if _, err := apdu.ReadPacket(c); err != nil {
				return
			}
			apdu.WritePacket(c, a)
		}
	}).Addr
}

func TestEmptyPackets(t *testing.T) {
	t.Parallel()
	accepted := apdu.Init{Size: 100000, Accepted: true}.EncodeResponse()
	for name, answers := range map[string][][]byte{"as the response to a search": {accepted, nil}, "as the first response": {nil}} {
		c := drive.Client(t, nil, wais.Load)
		_, err := drive.List(t, c, "wais://"+serveOnce(t, answers...)+"/db?words")
		if !errors.Is(err, fetch.ErrProtocol) || !strings.Contains(err.Error(), "empty WAIS packet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOddServers(t *testing.T) {
	t.Parallel()
	accepted := apdu.Init{Size: 100000, Accepted: true}.EncodeResponse()
	text := func(s string) []byte { return apdu.Response{HasText: true, Text: []byte(s)}.Encode() }
	failedStatus := text("ok")
	failedStatus[3] = 1
	outOfRange := apdu.Response{Diagnostics: []apdu.Diagnostic{{Code: "SF", Text: "Request out of range"}}}.Encode()
	full := strings.Repeat("x", 97952)
	tests := []struct {
		name    string
		packets [][]byte
		want    string
		err     error
	}{
		{"ignored status byte", [][]byte{accepted, failedStatus, outOfRange}, "ok", nil},
		{"rejected session", [][]byte{apdu.Init{}.EncodeResponse()}, "", fetch.ErrRefused},
		{"document of one chunk", [][]byte{accepted, text(full), outOfRange}, full, nil},
		{"short chunks", [][]byte{accepted, text("ab"), text("cd"), outOfRange}, "abcd", nil},
		{"empty chunk at the end", [][]byte{accepted, text("ab"), text("")}, "ab", nil},
		{"empty document", [][]byte{accepted, outOfRange}, "", nil},
		{"one response that does not fit", [][]byte{accepted, nil, text("ok"), outOfRange}, "ok", nil},
		{"responses that never fit", [][]byte{accepted, nil, nil, nil, nil, nil, nil}, "", fetch.ErrServer},
		{"more bytes than requested", [][]byte{accepted, text(full + "x")}, "", fetch.ErrProtocol},
		{"connection closed between chunks", [][]byte{accepted, text(full)}, full, fetch.ErrTruncated},
		{"neither text nor diagnostic", [][]byte{accepted, apdu.Response{}.Encode()}, "", fetch.ErrNotFound},
		{"truncated message", [][]byte{accepted, []byte("\x00\x0e\x17")}, "", fetch.ErrProtocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, wais.Load)
			body, err := drive.Get(t, c, "wais://"+serveOnce(t, tt.packets...)+"/db/TEXT/id")
			if body != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%d bytes, %v; want %d, %v", len(body), err, len(tt.want), tt.err)
			}
		})
	}
}

// The driver checks the length in the URL, because some servers report a removed document only as
// "out of range".
func TestSizeInURL(t *testing.T) {
	t.Parallel()
	accepted := apdu.Init{Size: 100000, Accepted: true}.EncodeResponse()
	text := func(s string) []byte { return apdu.Response{HasText: true, Text: []byte(s)}.Encode() }
	outOfRange := apdu.Response{Diagnostics: []apdu.Diagnostic{{Code: "SF", Text: "Request out of range"}}}.Encode()
	for _, tt := range []struct {
		name    string
		size    string
		packets [][]byte
		want    string
		err     error
	}{
		{"removed", "25/", [][]byte{accepted, outOfRange}, "", fetch.ErrNotFound},
		{"removed, empty text", "25/", [][]byte{accepted, text("")}, "", fetch.ErrNotFound},
		{"short", "25/", [][]byte{accepted, text("ab"), outOfRange}, "ab", fetch.ErrTruncated},
		{"same size", "2/", [][]byte{accepted, text("ab"), outOfRange}, "ab", nil},
		{"grown", "1/", [][]byte{accepted, text("ab"), outOfRange}, "ab", nil},
		{"empty, size 0", "0/", [][]byte{accepted, outOfRange}, "", nil},
		{"empty, no size", "", [][]byte{accepted, outOfRange}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, wais.Load)
			var body []byte
			resp, err := c.Get(t.Context(), "wais://"+serveOnce(t, tt.packets...)+"/db/TEXT/"+tt.size+"1=h;2=db;3=0%200%20x/pear.txt;")
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.Name != "pear.txt" {
					t.Errorf("name %q", resp.Name)
				}
			}
			if string(body) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", body, err, tt.want, tt.err)
			}
		})
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	c := drive.Client(t, nil, wais.Load)
	u := uri.MustParse(strings.Replace(s.Document("fruit", "pear.txt"), "/TEXT/", "/PS,TEXT/", 1))
	for view, want := range map[string]string{"text/plain": "text/plain", "text": "text/plain", "image/gif": ""} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: u, View: view})
		if want == "" {
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrNotFound || !strings.Contains(e.Hint, "TEXT (text/plain)") {
				t.Errorf("view %s: %v", view, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.ContentType != want {
			t.Errorf("view %s is %s", view, resp.ContentType)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, wais.Load)
	for url, want := range map[string]string{
		"wais://h/db?a+b":     `SEARCH type 3 in database "db" for "a b"`,
		"wais://h/":           `SEARCH type 3 in the directory of databases for "source"`,
		"wais://h/db":         "SEARCH type 1 for the WSRC document found",
		"wais://h/db/TEXT/id": `SEARCH type 1 in database "db" for document "id" as TEXT, bytes 0 to 97952`,
	} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(url)})
		if err != nil || !strings.Contains(strings.Join(x.Steps, "\n"), want) {
			t.Errorf("%s: %q, %v", url, x.Steps, err)
		}
	}
}

// The trace describes the messages of both directions.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := start(t, library)
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, wais.Load)
	drive.MustGet(t, c, "wais://"+s.Addr+"/fruit?pear")
	drive.MustGet(t, c, s.Document("tools", "saw.txt"))
	drive.Fails(t, c, "wais://"+s.Addr+"/nothing?x", fetch.ErrNotFound)
	var lines []string
	for _, x := range rec.Exchanges() {
		lines = append(lines, x.Lines...)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{"> INIT search, record size 100000 bytes\n< INIT accepted=true",
		"> SEARCH type 3 in database \"fruit\" for \"pear\"\n< 2 documents", "\n< 25000 bytes of a document", "diagnostic "} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nwithout\n%s", all, want)
		}
	}
}
