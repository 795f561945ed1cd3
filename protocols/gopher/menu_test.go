package gopher

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMenuLines(t *testing.T) {
	t.Parallel()
	plain := uri.Gopher{Scheme: "gopher", Host: "menu.example", Port: 70}
	secure := uri.Gopher{Scheme: "gophers", Host: "menu.example", Port: 7443}
	plus := uri.Gopher{Scheme: "gopher", Host: "menu.example", Port: 70, Plus: "+"}
	tests := []struct {
		base uri.Gopher
		line string
		kind fetch.EntryKind
		name string
		url  string
	}{
		{plain, "0About\tabout.txt\th.example\t70", fetch.EntryObject, "About", "gopher://h.example/0about.txt"},
		{plain, "1Docs\t/docs\th.example\t7070", fetch.EntryListing, "Docs", "gopher://h.example:7070/1/docs"},
		{plain, "7Find\t/find me?\th.example\t70", fetch.EntrySearch, "Find", "gopher://h.example/7/find%20me%3F"},
		{plain, "2People\t\tph.example\t105", fetch.EntrySearch, "People", "cso://ph.example/"},
		{plain, "2People\t\tph.example\t1105", fetch.EntrySearch, "People", "cso://ph.example:1105/"},
		{plain, "2People\t\t2001:db8::1\t105", fetch.EntrySearch, "People", "cso://[2001:db8::1]/"},
		{plain, "8Library\tguest\tl.example\t23", fetch.EntrySession, "Library", "telnet://guest@l.example/"},
		{plain, "8Library\t\tl.example\t", fetch.EntrySession, "Library", "telnet://l.example/"},
		{plain, "8Library\t/dir/Library\tl.example\t23", fetch.EntrySession, "Library", "telnet://l.example/"},
		{plain, "TMainframe\t\tm.example\t3270", fetch.EntrySession, "Mainframe", "tn3270://m.example:3270/"},
		{plain, "0Finger Joe\tjoe\tf.example\t79", fetch.EntryObject, "Finger Joe", "finger://f.example/joe"},
		{plain, "hWeb\tURL:http://w.example/a?b#c\th.example\t70", fetch.EntryObject, "Web", "http://w.example/a?b#c"},
		{plain, "hWeb\t/URL:http://w.example/\th.example\t70", fetch.EntryObject, "Web", "http://w.example/"},
		{plain, "hMail\tURL:mailto:joe@example.com\th.example\t70", fetch.EntryObject, "Mail", "mailto:joe@example.com"},
		{plain, "hBad\tURL:no url\th.example\t70", fetch.EntryObject, "Bad", "gopher://h.example/hURL:no%20url"},
		{plain, "hPage\t/a.html\th.example\t70", fetch.EntryObject, "Page", "gopher://h.example/h/a.html"},
		{plain, "iWelcome\tfake\t(NULL)\t0", fetch.EntryText, "Welcome", ""},
		{plain, "iWelcome", fetch.EntryText, "Welcome", ""},
		{plain, "i", fetch.EntryText, "", ""},
		{plain, "", fetch.EntryText, "", ""},
		{plain, "3Not there\t\terror.host\t1", fetch.EntryError, "Not there", ""},
		{plain, "no tabs at all", fetch.EntryText, "no tabs at all", ""},
		{plain, ".", fetch.EntryText, ".", ""},
		{plain, "\x1b[2Jhuh\tx\th.example\t70", fetch.EntryText, "\x1b[2Jhuh\tx\th.example\t70", ""},
		{plain, "0No host\t/x", fetch.EntryObject, "No host", "gopher://menu.example/0/x"},
		{plain, "0No port\t/x\th.example", fetch.EntryObject, "No port", "gopher://h.example/0/x"},
		{plain, "0Port 0\t/x\th.example\t0", fetch.EntryObject, "Port 0", "gopher://h.example/0/x"},
		{plain, "0Port err\t/x\th.example\terr", fetch.EntryError, "Port err", ""},
		{plain, "0Port big\t/x\th.example\t70000", fetch.EntryError, "Port big", ""},
		{plain, "0Bad host\t/x\ta b/c@d\t70", fetch.EntryError, "Bad host", ""},
		{plain, "0Mail\tHELO x\tm.example\t25", fetch.EntryObject, "Mail", "gopher://m.example:25/0HELO%20x"},
		{plain, "0Controls\ta\x00b\rc\th.example\t70", fetch.EntryObject, "Controls", "gopher://h.example/0a%00b%0Dc"},
		{plain, "0gr\xfc\xdf\t/gr\xfc\th.example\t70", fetch.EntryObject, "gr\u00fc\u00df", "gopher://h.example/0/gr%FC"},
		{plain, "0gr\u00fc\u00df\t/x\th.example\t70", fetch.EntryObject, "gr\u00fc\u00df", "gopher://h.example/0/x"},
		{plain, "?Odd\t/x\th.example\t70", fetch.EntryObject, "Odd", "gopher://h.example/%3F/x"},
		{plain, "#Odd\t/x\th.example\t70", fetch.EntryObject, "Odd", "gopher://h.example/%23/x"},
		{plain, "0Plus\t/x\th.example\t70\t+", fetch.EntryObject, "Plus", "gopher://h.example/0/x%09%09+"},
		{plain, "hWeb\tGET /a b.html\th.example\t8080", fetch.EntryObject, "Web", "http://h.example:8080/a%20b.html"},
		{plain, "hWeb\tGET /\th.example\t80", fetch.EntryObject, "Web", "http://h.example/"},
		{plus, "0Plus\t/x\th.example\t70\t+", fetch.EntryObject, "Plus", "gopher://h.example/0/x%09%09+"},
		{plus, "0Not plus\t/x\th.example\t70", fetch.EntryObject, "Not plus", "gopher://h.example/0/x"},
		{plain, "0Form\t/x\th.example\t70\t?", fetch.EntryObject, "Form", "gopher://h.example/0/x%09%09%3F"},
		{secure, "1Same\t/x\tMenu.example\t7443", fetch.EntryListing, "Same", "gophers://Menu.example:7443/1/x"},
		{secure, "1Other port\t/x\tmenu.example\t70", fetch.EntryListing, "Other port", "gopher://menu.example/1/x"},
		{secure, "1Other host\t/x\th.example\t7443", fetch.EntryListing, "Other host", "gopher://h.example:7443/1/x"},
	}
	for _, tt := range tests {
		e := newMenu(tt.base).entry(tt.line)
		if e.Kind != tt.kind || e.Name != tt.name || e.URL.String() != tt.url {
			t.Errorf("%q:\n got %v %q %s\nwant %v %q %s", tt.line, e.Kind, e.Name, e.URL, tt.kind, tt.name, tt.url)
		}
	}
}

func TestRedundantServer(t *testing.T) {
	t.Parallel()
	m := newMenu(uri.Gopher{Scheme: "gopher", Host: "h.example", Port: 70})
	m.entry("9File\t/f\th.example\t70")
	e := m.entry("+Mirror\t/f\tm.example\t70")
	if want := "gopher://m.example/9/f"; e.URL.String() != want || e.Sys.(Item).Type != "+" {
		t.Errorf("got %s, %+v, want %s", e.URL, e.Sys, want)
	}
}

func TestParentEntry(t *testing.T) {
	t.Parallel()
	m := newMenu(uri.Gopher{Host: "h.example"})
	for line, want := range map[string]string{
		"1..             \t/\th.example\t70": "parent",
		"1..a\t/..a\th.example\t70":          "item",
		"0..\t/x\th.example\t70":             "item",
		"i..\t/x\th.example\t70":             "",
	} {
		if e := m.entry(line); e.Rel != want {
			t.Errorf("%q: Rel %q, want %q", line, e.Rel, want)
		}
	}
}

func TestItemJSON(t *testing.T) {
	t.Parallel()
	e := newMenu(uri.Gopher{Host: "h.example"}).entry("0About\t/a\th.example\t7070\t+\tmore")
	got, err := json.Marshal(e.Facts())
	want := `{"type":"0","selector":"/a","host":"h.example","port":7070,"extras":["+","more"]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestEndlessLine(t *testing.T) {
	t.Parallel()
	text := "iok\r\n" + strings.Repeat("x", maxLine+1) + "\r\niafter\r\n"
	var names []string
	var last error
	for e, err := range newMenu(uri.Gopher{}).entries(strings.NewReader(text)) {
		if last = err; err == nil {
			names = append(names, e.Name)
		}
	}
	if len(names) != 1 || !errors.Is(last, wire.ErrLineTooLong) {
		t.Errorf("got %q and %v", names, last)
	}
}

// TestMalformedItems checks that malformed items are entries of kind EntryError
// and that the menu continues.
func TestMalformedItems(t *testing.T) {
	t.Parallel()
	text := "iok\r\n0No fields\r\n0Port\t/x\th\t99999\r\n0NUL\t/\x00x\th\t70\r\n0" + strings.Repeat("x", 20_000) + "\t/x\th\t70\r\n" +
		"0Host\t/x\ta b\t70\r\n0After\t/x\th\t70 \r\n0Word\t/x\th\tport\r\n0None\t/x\th\t\r\n0Zero\t/x\th\t0\r\nhURL\tURL:http://w/\th\t-\r\n"
	var got []string
	for e, err := range newMenu(uri.Gopher{Scheme: "gopher", Host: "h", Port: 70}).entries(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %.9s %s", e.Kind, e.Name, e.URL))
	}
	want := []string{"text ok ", "text 0No field ", "error Port ", "object NUL gopher://h/0/%00x", "error 0xxxxxxxx ",
		"error Host ", "object After gopher://h/0/x", "error Word ", "object None gopher://h/0/x", "object Zero gopher://h/0/x", "object URL http://w/"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMenuWithoutItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                                  nil,
		"Not Found\r\nThere is no such\r\n": fetch.ErrProtocol,
		"<html>\n":                          fetch.ErrProtocol,
		"iText\r\n":                         nil,
		"Odd line\r\niText\r\n":             nil,
	} {
		var last error
		for _, err := range newMenu(uri.Gopher{}).entries(strings.NewReader(text)) {
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("%q: %v, want %v", text, last, want)
		}
	}
}

// FuzzLine checks the invariants of the entries of menu lines.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"", "i", "0", "0a\tb\tc\t70", "1a\tb\tc\t0\t+\t", "7a\tb\tc\t99999", "8a\tu\x00\tc\t23", "Ta\tu:p@\tc\t",
		"2a\t\t2001:db8::1\t105", "hx\tURL:http://a/\t\t", "h\tURL:\t\t", "+m\tx\th\t70", "0\tx\t[::1]\t79", "\xff\xfe\t\t\t",
	} {
		f.Add(line, true)
	}
	f.Fuzz(func(t *testing.T, line string, secure bool) {
		base := uri.Gopher{Scheme: "gopher", Host: "menu.example", Port: 70}
		if secure {
			base.Scheme = "gophers"
		}
		m := newMenu(base)
		e := m.entry(line)
		if again := m.entry(line); again.URL != e.URL {
			t.Errorf("%q: leads to %q, and then to %q", line, e.URL, again.URL)
		}
		if _, item := parseItem(line); item.Type > " " && item.Type < "\x7f" && isGopher(e.URL) && e.URL.Host() != "" && item.Type != "+" {
			g, err := uri.ParseGopher(e.URL)
			if err == nil && (uri.Must(g.URI()).URLPath() != e.URL.URLPath() || g.Selector != item.Selector || g.Type != item.Type[0]) {
				t.Errorf("%q: %q is written as %q", line, e.URL, uri.Must(g.URI()))
			}
		}
		link := e.Kind != fetch.EntryText && e.Kind != fetch.EntryError
		if link == e.URL.IsZero() || link && !e.URL.IsAbs() {
			t.Errorf("%q: a %v entry leads to %q", line, e.Kind, e.URL)
		}
		if again, err := uri.Parse(e.URL.String()); err != nil || again != e.URL {
			t.Errorf("%q: %q does not parse: %v", line, e.URL, err)
		}
		if _, err := json.Marshal(e.Facts()); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	})
}

func isGopher(u uri.URI) bool { return u.Scheme() == "gopher" || u.Scheme() == "gophers" }
