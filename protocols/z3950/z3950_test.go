package z3950

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/internal/codec/marc"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

var pear = marc.Record{Fields: []marc.Field{
	{Tag: "001", Value: "pear1"},
	{Tag: "100", Indicators: "1 ", Subfields: []marc.Subfield{{Code: 'a', Value: "Gardener, Ann,"}}},
	{Tag: "245", Indicators: "14", Subfields: []marc.Subfield{{Code: 'a', Value: "The pear tree :"}, {Code: 'b', Value: "a fruit /"}, {Code: 'c', Value: "by A. Gardener."}}},
}}.Encode()

const plum = `<?xml version="1.0"?><record><title>Plums &amp; jam</title><creator>Cook, B.</creator></record>`

var library = fstest.MapFS{
	"fruit/pear.mrc":   {Data: pear},
	"fruit/plum.xml":   {Data: []byte(plum)},
	"fruit/note.txt":   {Data: []byte("\n  A note on pears.\nMore.\n")},
	"fruit/empty.txt":  {},
	"tools/saw.txt":    {Data: []byte("A saw.\n")},
	"tools/pear x.txt": {Data: []byte("No tool.\n")},
}

func start(t testing.TB, opts z3950d.Options) (s *z3950d.Server, host string) {
	t.Helper()
	if opts.Tree == nil {
		opts.Tree = library
	}
	s = z3950d.Start(t, opts)
	return s, s.Addr
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]target{
		"z39.50s://melvyl.ucop.edu/cat": {databases: []string{"cat"}},
		"z39.50s://h":                   {},
		"z39.50s://h/":                  {},
		"z39.50r://melvyl.ucop.edu/mags?elecworld.v30.n19":               {retrieval: true, databases: []string{"mags"}, hasQuery: true, query: "elecworld.v30.n19", words: "elecworld.v30.n19"},
		"z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc":    {retrieval: true, databases: []string{"tmf"}, hasQuery: true, query: "bkirch_rules__a1", words: "bkirch_rules__a1", elements: "f", syntaxes: []string{codec.SyntaxUSMARC}},
		"z39.50s://h/a+b%2Bc?x+y;rs=sutrs+xml+1.2.840.10003.5.7;item=12": {databases: []string{"a", "b+c"}, hasQuery: true, query: "x+y", words: "x y", item: 12, syntaxes: []string{codec.SyntaxSUTRS, codec.SyntaxXML, "1.2.840.10003.5.7"}},
		"z39.50s://h/a;ESN=B": {databases: []string{"a"}, elements: "B"},
		"z39.50s://h/a?%3Bx":  {databases: []string{"a"}, hasQuery: true, query: ";x", words: ";x"},
	} {
		got, err := parse(uri.MustParse(rawURL))
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		got.url, got.path, got.search = uri.URI{}, "", ""
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", rawURL, *got, want)
		}
	}
	for _, rawURL := range []string{
		"z39.50r://h/a", "z39.50r://h/a?", "z39.50r://h/?x", "z39.50s://h/a;item=1", "z39.50s://h/a?x;item=0", "z39.50s://h/a?x;item=2147483648",
		"z39.50r://h/a?x;item=1", "z39.50s://h/a?x;y=z", "z39.50s://h/a?x;rs=nothing", "z39.50s://h/a+?x", "z39.50s://h/a?x%0D%0A", "z39.50s://h/a%00?x",
		"z39.50s://h/a;esn=b?x", "z39.50s://h/a?x;esn=%0A", "z39.50s://h/a?" + strings.Repeat("x", maxURL),
	} {
		if got, err := parse(uri.MustParse(rawURL)); fetch.CodeOf(asFetchError(err)) != fetch.ErrURL {
			t.Errorf("%.60s: %+v, %v", rawURL, got, err)
		}
	}
}

// asFetchError classifies errors of package uri as the client does.
func asFetchError(err error) error {
	var e *uri.Error
	if errors.As(err, &e) {
		return fetch.ErrURL
	}
	return err
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"pear":                              `@attr 1=1016 "pear"`,
		`pear "a tree" x`:                   `@and @and @attr 1=1016 "pear" @attr 1=1016 "a tree" @attr 1=1016 "x"`,
		"@attr 1=4 pear":                    `@attr 1=4 "pear"`,
		`@attr 1=4 @or "a \"b" @attr 4=2 c`: `@or @attr 1=4 "a \"b" @attr 1=4 @attr 4=2 "c"`,
		"@not @and a b c":                   `@not @and "a" "b" "c"`,
		"@attr bib-1 1=title @attr 2=3 x":   `@attr 1=title @attr 2=3 "x"`,
	} {
		tg := target{words: words, query: words}
		q, _, err := tg.searches()
		if err != nil || describeQuery(q[0]) != want {
			t.Errorf("%s: %v, %v; want %s", words, q, err, want)
		}
	}
	for _, words := range []string{"@attr", "@attr 1= x", "@attr x=1 y", "@and x", "@attr 1=4 x y", "@prox x y", `"x`, "@attrset nothing x", "@attr 1=4 " + strings.Repeat("@and x ", 60) + "x", strings.Repeat("x ", 60)} {
		tg := target{words: words, query: words}
		if q, _, err := tg.searches(); fetch.CodeOf(err) != fetch.ErrURL {
			t.Errorf("%.40s: %v, %v", words, q, err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]z3950d.Options{"plain": {}, "one by one": {Brief: 1}, "indefinite": {Indefinite: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, host := start(t, opts)
			c := drive.Client(t, nil, Load)
			var got []string
			for _, e := range drive.MustList(t, c, "z39.50s://"+host+"/fruit+tools?e") {
				h := e.Sys.(Hit)
				got = append(got, fmt.Sprint(e.Kind, " ", e.Name, " | ", h.Author, " | ", h.Database, " ", h.Syntax, " ", strings.TrimPrefix(e.URL.String(), "z39.50s://"+host)))
				if e.Kind == fetch.EntryError {
					continue
				}
				if text, _, err := drive.Do(t, c, &fetch.Request{URL: e.URL}); err != nil || text == "" && e.Name != "record 1" {
					t.Errorf("%s: %q, %v", e.URL, text, err)
				}
			}
			want := []string{ // requested in the syntax of the first record; others have no title
				"object record 1 |  | fruit sutrs /fruit+tools?e;item=1",
				"object A note on pears. |  | fruit sutrs /fruit+tools?e;item=2",
				"object record 3 |  | fruit  /fruit+tools?e;item=3",
				"object record 4 |  | fruit  /fruit+tools?e;item=4",
				"object No tool. |  | tools sutrs /fruit+tools?e;item=5",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{})
	c := drive.Client(t, nil, Load)
	for query, want := range map[string]string{
		"pear.mrc":  "The pear tree : a fruit | Gardener, Ann | usmarc application/marc",
		"plum.xml":  "Plums & jam | Cook, B. | xml application/xml",
		"empty.txt": "record 1 |  | sutrs text/plain",
		"none":      "",
	} {
		got := ""
		for _, e := range drive.MustList(t, c, "z39.50s://"+host+"/fruit?"+query) {
			got += fmt.Sprint(e.Name, " | ", e.Sys.(Hit).Author, " | ", e.Sys.(Hit).Syntax, " ", e.ContentType)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{})
	c := drive.Client(t, nil, Load)
	fields := "LDR    00135nam a2200061   4500\n001    pear1\n100 1  $a Gardener, Ann,\n245 14 $a The pear tree : $b a fruit / $c by A. Gardener.\n"
	for _, tt := range []struct{ path, view, want, media, name string }{
		{"z39.50r://$/fruit?pear.mrc", "", string(pear), "application/marc", "pear.mrc"},
		{"z39.50r://$/fruit?plum.xml", "", plum, "application/xml", "plum.xml"},
		{"z39.50r://$/fruit?note.txt;rs=marc+sutrs", "", "\n  A note on pears.\nMore.\n", "text/plain", "note.txt"},
		{"z39.50s://$/fruit?pear.mrc;item=1", "", string(pear), "application/marc", "fruit-1.mrc"},
		{"z39.50s://$/fruit?pear.mrc;item=1;rs=usmarc;esn=F", "", string(pear), "application/marc", "fruit-1.mrc"},
		{"z39.50r://$/fruit?pear.mrc", "text/plain", fields, "text/plain", "pear.mrc.txt"},
		{"z39.50r://$/fruit?pear.mrc", "sutrs", fields, "text/plain", "pear.mrc.txt"},
		{"z39.50r://$/fruit?pear.mrc", "marc21", string(pear), "application/marc", "pear.mrc"},
		{"z39.50r://$/fruit?note.txt", "text", "\n  A note on pears.\nMore.\n", "text/plain", "note.txt"},
	} {
		u := uri.MustParse(strings.Replace(tt.path, "$", host, 1))
		got, resp, err := drive.Do(t, c, &fetch.Request{URL: u, View: tt.view})
		if err != nil || got != tt.want || resp.ContentType != tt.media || resp.Name != tt.name || resp.Header.Get("Database") != "fruit" {
			t.Errorf("%s as %q: %q, %v; %+v", tt.path, tt.view, got, err, resp)
			continue
		}
		meta, err := c.Do(t.Context(), &fetch.Request{URL: u, View: tt.view, Op: fetch.OpStat})
		if err != nil || meta.ContentType != tt.media || meta.Name != tt.name || meta.Size >= 0 && meta.Size != int64(len(tt.want)) {
			t.Errorf("Stat %s with view %q: %+v, %v", tt.path, tt.view, meta, err)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{})
	_, titleOnly := start(t, z3950d.Options{NoUse: codec.UseTitle})
	c := drive.Client(t, nil, Load)
	for _, tt := range []struct {
		url  string
		op   fetch.Op
		view string
		code fetch.Code
	}{
		{"z39.50r://" + host + "/fruit?fig", fetch.OpGet, "", fetch.ErrNotFound},
		{"z39.50r://" + host + "/none?fig", fetch.OpGet, "", fetch.ErrNotFound},
		{"z39.50s://" + host + "/none?fig", fetch.OpList, "", fetch.ErrNotFound},
		{"z39.50s://" + host + "/none", fetch.OpList, "", fetch.ErrNotFound},
		{"z39.50s://" + host + "/fruit?pear;item=9", fetch.OpGet, "", fetch.ErrNotFound},
		{"z39.50r://" + host + "/fruit+tools?x", fetch.OpList, "", fetch.ErrNotRetrievable},
		{"z39.50s://" + host + "/fruit", fetch.OpGet, "", fetch.ErrNeedSearch},
		{"z39.50s://" + host + "/", fetch.OpList, "", fetch.ErrNotRetrievable}, // no Explain
		{"z39.50r://" + host + "/fruit?pear.mrc;rs=xml", fetch.OpGet, "", fetch.ErrNotFound},
		{"z39.50r://" + host + "/fruit?pear.mrc", fetch.OpGet, "image/gif", fetch.ErrNotFound},
		{"z39.50r://" + host + "/fruit?pear.mrc", fetch.OpGet, "rubbish", fetch.ErrNotFound},
		{"z39.50r://" + titleOnly + "/fruit?pear.mrc", fetch.OpGet, "", fetch.ErrRefused},
		{"z39.50s://" + titleOnly + "/fruit?@attr+1=12+x", fetch.OpList, "", fetch.ErrRefused},
	} {
		_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(tt.url), Op: tt.op, View: tt.view})
		if !errors.Is(err, tt.code) {
			t.Errorf("%v %s: %v, want %v", tt.op, tt.url, err, tt.code)
		}
	}
}

// The driver searches for a docid with the attributes of RFC 2056. It uses others only if the server
// does not support those.
func TestDocumentQueries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		noUse int64
		want  string
	}{
		"by docid":        {0, `SEARCH ["fruit"] 1=1032 4=104 "note.txt"`},
		"by local number": {codec.UseLocalNumber, `SEARCH ["fruit"] 1=12 "note.txt"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, host := start(t, z3950d.Options{NoUse: tt.noUse})
			drive.MustGet(t, drive.Client(t, nil, Load), "z39.50r://"+host+"/fruit?note.txt")
			var searches []string
			for _, line := range s.Log() {
				if strings.HasPrefix(line, "SEARCH") {
					searches = append(searches, line)
				}
			}
			if searches[len(searches)-1] != tt.want {
				t.Errorf("%q", searches)
			}
		})
	}
}

// A session URL searches for words. If no record matches, it searches for a document identifier.
func TestSessionURL(t *testing.T) {
	t.Parallel()
	s, host := start(t, z3950d.Options{Tree: fstest.MapFS{"db/a": {Data: []byte("words")}}, NoUse: codec.UseDocID})
	n := 0
	for e, err := range drive.Client(t, nil, Load).List(t.Context(), "z39.50s://"+host+"/db?nothing") {
		t.Errorf("%v, %v", e, err)
	}
	for _, e := range drive.MustList(t, drive.Client(t, nil, Load), "z39.50s://"+host+"/db?words") {
		n++
		_ = e
	}
	if n != 1 {
		t.Errorf("%d hits of %q", n, s.Log())
	}
}

func TestListTermsAndDatabases(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{Explain: true, Synthetic: 350})
	c := drive.Client(t, nil, Load)
	list := func(path string) (lines []string) {
		for _, e := range drive.MustList(t, c, "z39.50s://"+host+path) {
			lines = append(lines, fmt.Sprint(e.Kind, " ", e.Name, " ", strings.TrimPrefix(e.URL.String(), "z39.50s://"+host)))
		}
		return lines
	}
	for path, want := range map[string][]string{
		"/":      {"search fruit /fruit", "search tools /tools"},
		"/tools": {"listing pear x.txt /tools?%22pear%20x.txt%22", "listing saw.txt /tools?saw.txt"},
	} {
		if got := list(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	seen := make(map[string]bool)
	for _, line := range list("/many") {
		seen[line] = true
	}
	if len(seen) != 350 {
		t.Errorf("%d different terms", len(seen))
	}
}

func TestStatOfSearch(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{})
	meta, err := drive.Client(t, nil, Load).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("z39.50s://" + host + "/fruit?pear")})
	if err != nil || meta.Kind != fetch.KindListing || meta.Header.Get("Hits") != "2" {
		t.Errorf("%+v, %v", meta, err)
	}
}

func TestSessionReuse(t *testing.T) {
	t.Parallel()
	s, host := start(t, z3950d.Options{})
	c := drive.Client(t, nil, Load)
	for i := range 4 {
		drive.MustGet(t, c, fmt.Sprintf("z39.50s://%s/fruit?e;item=%d", host, i+1))
	}
	searches := 0
	for _, line := range s.Log() {
		if strings.HasPrefix(line, "SEARCH") {
			searches++
		}
	}
	if s.Accepted() != 1 || searches != 1 {
		t.Errorf("%d connections and %d searches", s.Accepted(), searches)
	}
	s.CloseClientConnections()
	drive.MustGet(t, c, "z39.50s://"+host+"/fruit?e;item=1") // reconnects
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{Synthetic: 100})
	c := drive.Client(t, nil, Load)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			got, err := drive.Get(t, c, fmt.Sprintf("z39.50r://%s/many?%d", host, i+1))
			if want := fmt.Sprintf("record %d of many\n", i+1); got != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestLogins(t *testing.T) {
	t.Parallel()
	_, host := start(t, z3950d.Options{User: "joe", Password: "secret"})
	for name, tt := range map[string]struct {
		login string
		opts  Options
		code  fetch.Code
		kind  fetch.ReasonKind
	}{
		"right":     {"joe:secret@", Options{AllowPlaintext: true}, "", ""},
		"wrong":     {"joe:wrong@", Options{AllowPlaintext: true}, fetch.ErrAuth, ""},
		"none":      {"", Options{AllowPlaintext: true}, fetch.ErrAuth, fetch.ReasonNoLogin},
		"plaintext": {"joe:secret@", Options{}, fetch.ErrAuth, fetch.ReasonPlaintext},
	} {
		var rec fetchtest.Recording
		c := fetch.New(&fetch.Options{Recorder: &rec}, With(tt.opts))
		_, err := drive.Get(t, c, "z39.50r://"+tt.login+host+"/fruit?note.txt")
		c.Close()
		var e *fetch.Error
		if fetch.CodeOf(err) != tt.code || errors.As(err, &e) && e.Reason.Kind != tt.kind {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(sentOf(&rec), "secret") {
			t.Errorf("%s: the password is recorded", name)
		}
	}
}

// serveOnce starts a server that sends one of the replies after each read from a connection.
func serveOnce(t *testing.T, replies ...[]byte) string {
	t.Helper()
	return serveEach(t, [][][]byte{replies})
}

// serveEach is like serveOnce, with other replies on each connection. Those of the last are repeated.
func serveEach(t *testing.T, conns [][][]byte) string {
	t.Helper()
	var n atomic.Int64
	return servers.Start(t, servers.Config{}, func(c *servers.Conn) {
		for _, a := range conns[min(int(n.Add(1)), len(conns))-1] {
			if _, err := c.Read(make([]byte, 4096)); err != nil {
				return
			}
			c.Write(a)
		}
	}).Addr
}

// TestTermsThatRepeatEnd lists terms from servers that send the same ones again, whatever the client requests.
func TestTermsThatRepeatEnd(t *testing.T) {
	t.Parallel()
	accepted := codec.Init{Version: 3, Options: []int{0, 1, 7}, PreferredMessageSize: 1, ExceptionalRecordSize: 1, Accepted: true}.EncodeResponse()
	page := func(prefix string) []byte {
		var m codec.ScanResponse
		for i := range termsPerRequest {
			m.Terms = append(m.Terms, codec.Term{Text: fmt.Sprint(prefix, i), Count: 1})
		}
		return m.Encode()
	}
	for name, pages := range map[string][][]byte{"one page": {page("a")}, "two pages": {page("a"), page("b")}} {
		replies := [][]byte{accepted}
		for i := range 50 {
			replies = append(replies, pages[i%len(pages)])
		}
		entries, err := drive.List(t, drive.Client(t, nil, Load), "z39.50s://"+serveEach(t, [][][]byte{replies})+"/db")
		if fetch.CodeOf(err) != fetch.ErrProtocol || len(entries) > 10*termsPerRequest {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
}

func TestOddServers(t *testing.T) {
	t.Parallel()
	accepted := codec.Init{Version: 3, Options: []int{0, 1, 7}, PreferredMessageSize: 1, ExceptionalRecordSize: 1, Accepted: true}.EncodeResponse()
	found := codec.SearchResponse{Count: 1, OK: true}.Encode()
	sent := codec.NamePlusRecord{Database: "db", Syntax: codec.SyntaxXML, Content: []byte("<x/>")}
	record := codec.EncodePresentResponse(0, 2, [][]byte{sent.Encode()})
	two := codec.EncodePresentResponse(0, 3, [][]byte{sent.Encode(), sent.Encode()})
	diagnostic := func(code int64) []byte {
		return codec.EncodePresentDiagnostic(codec.Diagnostic{Set: codec.DiagBib1, Code: code})
	}
	for name, tt := range map[string]struct {
		replies [][]byte
		want    string
		err     error
	}{
		"valid":                          {[][]byte{accepted, found, record}, "<x/>", nil},
		"rejected":                       {[][]byte{codec.Init{Options: []int{0}}.EncodeResponse()}, "", fetch.ErrAuth},
		"closes immediately":             {nil, "", fetch.ErrNetwork},
		"closes after Init":              {[][]byte{accepted, codec.Close{Reason: codec.CloseLackOfActivity}.Encode()}, "", fetch.ErrBusy},
		"closes for security":            {[][]byte{accepted, codec.Close{Reason: codec.CloseSecurityViolation, Text: "x"}.Encode()}, "", fetch.ErrRefused},
		"closes after protocol error":    {[][]byte{accepted, codec.Close{Reason: codec.CloseProtocolError}.Encode()}, "", fetch.ErrServer},
		"another message":                {[][]byte{accepted, record}, "", fetch.ErrProtocol},
		"text":                           {[][]byte{[]byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, "", fetch.ErrProtocol},
		"failure without diagnostic":     {[][]byte{accepted, codec.SearchResponse{}.Encode()}, "", fetch.ErrServer},
		"a negative count":               {[][]byte{accepted, codec.SearchResponse{Count: -1, OK: true}.Encode()}, "", fetch.ErrProtocol},
		"neither records nor diagnostic": {[][]byte{accepted, found, codec.EncodePresentResponse(0, 1, nil)}, "", fetch.ErrProtocol},
		"more records than requested":    {[][]byte{accepted, found, two}, "<x/>", fetch.ErrProtocol},
		"truncated record":               {[][]byte{accepted, found, record[:len(record)-2]}, "<x", fetch.ErrTruncated},
		"a temporary error":              {[][]byte{accepted, found, diagnostic(codec.TemporaryError)}, "", fetch.ErrBusy},
		"a permanent error":              {[][]byte{accepted, found, diagnostic(codec.PermanentError)}, "", fetch.ErrServer},
		"no element sets":                {[][]byte{accepted, found, diagnostic(codec.NoElementSets), record}, "<x/>", nil},
		"several syntaxes":               {[][]byte{accepted, found, diagnostic(codec.BadSyntax), diagnostic(codec.NotInSyntax), record}, "<x/>", nil},
		"no supported syntax":            {[][]byte{accepted, found, diagnostic(239), diagnostic(239), diagnostic(239), diagnostic(239)}, "", fetch.ErrNotFound},
		"too large a record":             {[][]byte{accepted, found, diagnostic(codec.RecordTooLarge)}, "", fetch.ErrTooLarge},
		"wrong password":                 {[][]byte{accepted, found, diagnostic(codec.BadPassword)}, "", fetch.ErrAuth},
		"too large a message":            {[][]byte{accepted, found, {0xb9, 0x84, 0x7f, 0xff, 0xff, 0xff}}, "", fetch.ErrProtocol},
		"endless nesting":                {[][]byte{accepted, found, []byte(strings.Repeat("\xb9\x80", 100))}, "", fetch.ErrProtocol},
		"80-bit length":                  {[][]byte{accepted, {0xb7, 0x8a, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, "", fetch.ErrProtocol},
		"64-bit length":                  {[][]byte{accepted, {0xb7, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, "", fetch.ErrProtocol},
		"list of diagnostics":            {[][]byte{accepted, {0xb7, 0x16, 0x97, 1, 0, 0x98, 1, 0, 0x96, 1, 0, 0xbf, 0x81, 0x4d, 8, 0x30, 6, 6, 1, 0x2a, 2, 1, 0x6d, 0x30}}, "", fetch.ErrProtocol},
		"record without content":         {[][]byte{accepted, found, {0xb9, 4, 0xbc, 2, 0x30, 0}}, "", fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, resp, err := drive.Do(t, drive.Client(t, nil, Load), &fetch.Request{URL: uri.MustParse("z39.50r://" + serveOnce(t, tt.replies...) + "/db?id")})
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v, %+v; want %q, %v", got, err, resp, tt.want, tt.err)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load)
	for url, want := range map[string]string{
		"z39.50r://h/db?id":             `SEARCH "db" for @attr 1=1032 @attr 4=104 "id"`,
		"z39.50s://h/db?a+b":            `SEARCH "db" for @and @attr 1=1016 "a" @attr 1=1016 "b"`,
		"z39.50s://h/db?a;item=3;esn=x": `PRESENT 1 from 3, syntax usmarc, element set "x"`,
		"z39.50s://h/":                  `SEARCH "IR-Explain-1" for @attr 1=1 "DatabaseInfo"`,
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
	_, host := start(t, z3950d.Options{})
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, Load)
	for _, path := range []string{"/fruit?note.txt", "/none?x"} {
		drive.Get(t, c, "z39.50s://"+host+path)
	}
	var all string
	for _, x := range rec.Exchanges() {
		all += strings.Join(x.Lines, "\n") + "\n"
	}
	for _, want := range []string{"> INIT version 3", "< INIT version 3, accepted=true", "> SEARCH \"fruit\" for", "< FOUND 1 records\n> PRESENT 1 from 1, syntax usmarc", "< RECORDS 1, status 0", "database unavailable: none [109]"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nwithout\n%s", all, want)
		}
	}
}

// sentOf returns the trace lines and all bytes sent by the client.
func sentOf(rec *fetchtest.Recording) string {
	var b strings.Builder
	for _, x := range rec.Exchanges() {
		fmt.Fprintf(&b, "%+v\n", x.Lines)
		for _, c := range x.Conns {
			b.WriteString(string(c.Sent))
		}
	}
	return b.String()
}
