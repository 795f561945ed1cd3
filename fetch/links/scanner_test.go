package links

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// rawNames are the elements whose content is text, for the tokenizer of golang.org/x/net also with scripts.
var rawNames = []string{"iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"}

// scanned returns the tokens of a page, one per line, as tokenized does.
func scanned(t testing.TB, r io.Reader, cdata, skipsTexts bool) (lines []string) {
	m := takeMarkup(r)
	defer m.release()
	m.allKeys, m.skipsTexts, m.allowsCDATA = true, skipsTexts, cdata
	for {
		kind := m.scanner.next()
		raw := string(m.raw())
		switch kind {
		case endToken:
			if !errors.Is(m.err, io.EOF) {
				t.Fatal(m.err)
			}
			if skipsTexts {
				raw = ""
			}
			return append(lines, fmt.Sprintf("end %q", raw))
		case textToken:
			lines = append(lines, fmt.Sprintf("text %q %q", raw, m.text()))
		case commentToken:
			lines = append(lines, fmt.Sprintf("comment %q", raw))
		case doctypeToken:
			lines = append(lines, fmt.Sprintf("doctype %q", raw))
		case endTagToken:
			lines = append(lines, fmt.Sprintf("end tag %q %s", raw, m.readName().name))
		case startToken:
			m.name = m.readName().name
			m.readAttributes()
			if m.isRaw = slices.Contains(rawNames, m.name); m.isRaw {
				m.rawName = m.name
				m.isRaw = m.name != "title" && m.name != "textarea"
			}
			lines = append(lines, fmt.Sprintf("tag %q %s %v %q", raw, m.name, m.selfClosing, m.attrs))
		}
	}
}

// tokenized returns the tokens of a page by the tokenizer of golang.org/x/net.
func tokenized(page string, cdata bool) (lines []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	z.AllowCDATA(cdata)
	for {
		kind := z.Next()
		raw := string(z.Raw())
		switch kind {
		case html.ErrorToken:
			return append(lines, fmt.Sprintf("end %q", raw))
		case html.TextToken:
			lines = append(lines, fmt.Sprintf("text %q %q", raw, z.Text()))
		case html.CommentToken:
			lines = append(lines, fmt.Sprintf("comment %q", raw))
		case html.DoctypeToken:
			lines = append(lines, fmt.Sprintf("doctype %q", raw))
		case html.EndTagToken:
			name, _ := z.TagName()
			lines = append(lines, fmt.Sprintf("end tag %q %s", raw, name))
		default:
			name, more := z.TagName()
			tag := string(name)
			var attrs []attribute
			for more {
				var key, val []byte
				key, val, more = z.TagAttr()
				attrs = append(attrs, attribute{string(key), string(val)})
			}
			lines = append(lines, fmt.Sprintf("tag %q %s %v %q", raw, tag, kind == html.SelfClosingTagToken, attrs))
		}
	}
}

var (
	leavesComment = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)
	repeatedSlash = regexp.MustCompile(`=\s*([^\s"'>][^\s>]*)?/>`) // a value without quotes
	cdataText     = regexp.MustCompile(`^text "<!\[CDATA\[`)
)

// differs returns why the other tokenizer reads a page in another way, or "".
func differs(page string) string {
	switch {
	case leavesComment.MatchString(page):
		return `in a script, it ends a comment at a "<" that begins no tag (HTML, section 13.2.5.23, "anything else")`
	case repeatedSlash.MatchString(page):
		return `it takes the slash of a repeated attribute, as in <a b=c b=/>, for that of the tag`
	}
	return ""
}

// compareTokens compares the tokens of a page with those of the other tokenizer, also in pieces.
func compareTokens(t *testing.T, page string, cdata bool) {
	want := tokenized(page, cdata)
	whole := scanned(t, strings.NewReader(page), cdata, false)
	if differs(page) == "" {
		for i, line := range whole {
			if cdata && cdataText.MatchString(line) {
				continue // the other tokenizer reads references in it
			}
			if i >= len(want) || line != want[i] {
				t.Fatalf("%q: token %d is %s, want %s", page, i, line, want[min(i, len(want)-1)])
			}
		}
		if len(want) != len(whole) {
			t.Fatalf("%q: %d tokens, want %d", page, len(whole), len(want))
		}
	}
	if got := scanned(t, iotest.OneByteReader(strings.NewReader(page)), cdata, false); !slices.Equal(got, whole) {
		t.Errorf("%q: in pieces %q, want %q", page, got, whole)
	}
	tags := slices.DeleteFunc(slices.Clone(whole), func(line string) bool {
		return strings.HasPrefix(line, "text ") && !cdataText.MatchString(line) || strings.HasPrefix(line, "end \"")
	})
	for i, line := range tags {
		if cdataText.MatchString(line) {
			raw, _ := strconv.QuotedPrefix(strings.TrimPrefix(line, "text "))
			tags[i] = "comment " + raw
		}
	}
	for _, r := range []io.Reader{strings.NewReader(page), iotest.OneByteReader(strings.NewReader(page))} {
		if got := scanned(t, r, cdata, true); !slices.Equal(got[:len(got)-1], tags) {
			t.Errorf("%q: without texts %q, want %q", page, got, tags)
		}
	}
}

// oddPages have the ends of comments, scripts, tags and the input that are rare.
var oddPages = []string{"", "<", "</", "<a", "<a ", "<a b", "<a b=", "<a b='", "<a b='c'", "</a", "</a b='>'>", "<!", "<!-", "<!--", "<!-->", "<!--->", "<!---->",
	"<!----!>", "<!---!>x-->", "<!--a--!>", "<!--a--!-->", "<!--a--!-!>-->", "<!--a->b-->", "<!--a--b-->", "<!>", "<!->", "<!x>", "<?x>", "<?x ?>", "</>", "</ x>",
	"<!doctype", "<!DocType html>", "<!doctyp>", "<![CDATA[", "<![CDATA[]>", "<![CDATA[]]>", "<![CDATA[a]b>c]]]>d", "<![cdata[a]]>", "<![CDATA[&amp;]]>",
	"<a/>", "<a b=/>", "<a b=c/>", "<a b='/'>", "<a b='c'/>", "<a b=c b=/>", "<a / >", "<a =b =c>", "<a b==c>", "<a b = c d>", "<a b=c=d>", `<a b="c"d='e'f>`, "<A B=C b=d>",
	"<a\x00b c\x00=d\x00>", "<a b='\r\n\r'>\r\n\r", "\x00<title>\x00&amp;</title>", "<a b='&amp;&amp&ampx&amp=&lt&nosuch;&notit;&semi;&#65;&#65b&#x;&#;&;&'>",
	"&amp;&amp&ampx&amp=&notit;&nosuch;&#65;&#x41&#0;&#x80;&#xd800;&;&NotEqualTilde;", "<title></titl></title x>", "<title></TITLE/>", "<title></title", "<xmp><a></xmp>",
	"<plaintext></plaintext>", "<script></script>", "<script><!--</script>", "<script><!--<script></script>x</script>", "<script><!--><script></script>",
	"<script><!-- <script>--></script>", "<script><!--<scripty></script>", "<script><!--<script/</script/-->x</script>", "<script><!-</script>", "<script></scriptx></script>",
	"<script>a<b</script", "<style><!--</style>-->", "a < b <3 << <a>", "<a" + strings.Repeat(" b", 40) + " c>"}

func TestTokensOfOddPages(t *testing.T) {
	t.Parallel()
	for _, page := range oddPages {
		for _, cdata := range []bool{false, true} {
			compareTokens(t, page, cdata)
		}
	}
}

// FuzzTokens compares the tokens of pages with those of the tokenizer of golang.org/x/net.
func FuzzTokens(f *testing.F) {
	for i, page := range oddPages {
		f.Add(page, i%2 == 0)
	}
	f.Fuzz(compareTokens)
}

// TestTokensOfHTML5Lib reads the tests of tokenizers of html5lib, which are part of the module
// golang.org/x/net. Comments and document types are not compared.
func TestTokensOfHTML5Lib(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	files, _ := filepath.Glob(strings.TrimSpace(string(out)) + "/html/testdata/html5lib-tests/tokenizer/*.test")
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all struct {
			Tests []struct {
				Description, Input, LastStartTag string
				InitialStates                    []string
				Output                           [][]any
				DoubleEscaped                    bool
			}
		}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(file, err)
		}
		for _, test := range all.Tests {
			if test.DoubleEscaped {
				continue // NUL and surrogates
			}
			if len(test.InitialStates) == 0 {
				test.InitialStates = []string{"Data state"}
			}
			for _, state := range test.InitialStates {
				n++
				if got, want := inState(test.Input, state, test.LastStartTag), expected(test.Output); got != want {
					t.Errorf("%s, %s, %s: %q: got\n%s want\n%s", filepath.Base(file), test.Description, state, test.Input, got, want)
				}
			}
		}
	}
	if len(files) > 0 && n < 5000 {
		t.Errorf("%d tests", n)
	}
}

// expected writes the tags and the text of the output of a test.
func expected(output [][]any) string {
	var b strings.Builder
	for _, token := range output {
		switch token[0] {
		case "Character":
			b.WriteString(token[1].(string))
		case "StartTag":
			fmt.Fprintf(&b, "\n<%s %v %v>\n", token[1], len(token) > 3, token[2])
		case "EndTag":
			fmt.Fprintf(&b, "\n</%s>\n", token[1])
		}
	}
	return b.String()
}

// inState returns what expected does for the tokens of a page that begins in a state of the tokenizer.
func inState(page, state, element string) string {
	m := takeMarkup(strings.NewReader(page))
	defer m.release()
	m.allKeys = true
	switch state {
	case "CDATA section state":
		m.page.Reset(strings.NewReader(cdata + page))
		m.allowsCDATA = true
	case "PLAINTEXT state":
		m.rawName, m.isRaw = "plaintext", true
	case "Script data state":
		m.rawName, m.isRaw = "script", true
	case "RAWTEXT state":
		m.rawName, m.isRaw = "xmp", true
	case "RCDATA state":
		m.rawName = "title"
	}
	if m.rawName != "" && element != "" {
		m.rawName = element
	}
	var b strings.Builder
	for {
		switch m.scanner.next() {
		case endToken:
			return b.String()
		case textToken:
			b.Write(m.text())
		case startToken:
			m.name = m.readName().name
			m.readAttributes()
			attrs := map[string]any{}
			for _, a := range m.attrs {
				attrs[a.key] = a.val
			}
			fmt.Fprintf(&b, "\n<%s %v %v>\n", m.name, m.selfClosing, attrs)
		case endTagToken:
			fmt.Fprintf(&b, "\n</%s>\n", m.readName().name)
		}
	}
}

// readWith returns the number of links of a page that is read with a memo.
func readWith(m *memo, text string) (n int) {
	p := &page{markup: newMarkup(strings.NewReader(text), "text/html; charset=utf-8"), base: uri.MustParse("http://h.example/dir/"),
		yield: func(e fetch.Entry, err error) bool {
			n++
			return err == nil && e.Kind != fetch.EntryError
		}}
	defer p.release()
	p.memo = m
	p.read()
	return n
}

// TestAllocationsOfLinks checks that a link that was read before takes no memory, and a new one its value, its URL and its text.
func TestAllocationsOfLinks(t *testing.T) {
	const n = 100
	var known strings.Builder
	var few, many [50]string
	for i := range few {
		var b strings.Builder
		for j := range n {
			fmt.Fprintf(&b, `<li><a href="/new%d/%d" class=x>New &amp; %d of %d</a>`, i, j, j, i)
		}
		few[i], many[i] = "<ul>", "<ul>"+b.String()
	}
	for j := range n {
		fmt.Fprintf(&known, `<li><a href="known/%d" class=x>Known &amp; %d</a>`, j, j)
	}
	memory := &memo{}
	count := func(pages ...string) float64 {
		i := 0
		return testing.AllocsPerRun(len(pages)-1, func() { readWith(memory, pages[i%len(pages)]); i++ })
	}
	empty := count("<ul>", "<ul>", "<ul>")
	if got := count(known.String(), known.String(), known.String()) - empty; got > n/10 {
		t.Errorf("%d known links: %v allocations", n, got)
	}
	if got := count(many[:]...) - empty; got > 4*n+n/2 {
		t.Errorf("%d new links: %v allocations", n, got)
	}
}

// TestSkippedTextsAreNotKept checks that texts, scripts and style sheets that nobody needs take no memory.
func TestSkippedTextsAreNotKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("text & <text> ", 1<<16)
	for _, page := range []string{strings.ReplaceAll(long, "<text>", "< text"), "<script>" + long + "</script>", "<script><!--" + long + "</script>", "<textarea>" + long + "</textarea>"} {
		m := takeMarkup(strings.NewReader(page + "<a href=x>"))
		m.skipsTexts = true
		for kind := m.next(); kind != endToken; kind = m.next() {
		}
		if m.name != "a" || cap(m.buf) > largeBuffer {
			t.Errorf("%.20q: the last tag is %s, and the buffer has %d bytes", page, m.name, cap(m.buf))
		}
		m.release()
	}
}

// TestManyAttributes checks that the attributes of a tag are bounded, and that a link among them is found.
func TestManyAttributes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 4 * maxAttributes {
		fmt.Fprintf(&b, " title lang%d ID=%d", i, i)
	}
	for _, all := range []bool{false, true} {
		m := takeMarkup(strings.NewReader("<a" + b.String() + " href=x>"))
		if m.allKeys = all; m.next() != startToken || !has(m.attrs, "href") || len(m.attrs) > maxAttributes+64 || !all && len(m.attrs) > 2 {
			t.Errorf("all attributes %v: %d are read", all, len(m.attrs))
		}
		m.release()
	}
}

// TestLongPartsOfLittleUseAreNotKept checks that a page is read whose data URLs, comments and texts exceed the
// limit of a token, in little memory.
func TestLongPartsOfLittleUseAreNotKept(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]struct{ begin, long, end string }{
		"a data URL":         {`<img src="data:image/png;base64,`, "A", `" alt="b">`},
		"a second attribute": {`<img src=" DATA:,`, "A", `" src="/wrong">`},
		"a comment":          {"<!--", "c > c <a href=wrong>", "-->"},
		"an odd comment":     {"<!--", "c", "--!>"},
		"an instruction":     {"<?", "c <", ">"},
		"a text":             {"", "text & < text ", ""},
		"a script":           {"<script>", "a < b", "</script>"},
	} {
		part := strings.Repeat(page.long, 10_000)
		parts := []io.Reader{strings.NewReader(page.begin)}
		for range maxToken/len(part) + 1 {
			parts = append(parts, strings.NewReader(part))
		}
		m := takeMarkup(io.MultiReader(append(parts, strings.NewReader(page.end+"<a href=x>"))...))
		m.skipsTexts = true
		var links []string
		for kind := m.next(); kind != endToken; kind = m.next() {
			for _, a := range m.attrs {
				if kind == startToken && a.key != "alt" {
					links = append(links, a.val)
				}
			}
		}
		if !slices.Equal(links, []string{"x"}) || m.err != io.EOF || cap(m.buf) > 2<<20 {
			t.Errorf("%s: %.99q, %v, %d bytes of memory", name, links, m.err, cap(m.buf))
		}
	}
}

// TestEndlessTokens checks that a token without an end is an error, and takes bounded memory.
func TestEndlessTokens(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"text", "<a href='", "<a b=", "<a b=data:,", "<!--", "</ ", "<script><!--", "<title>", "<svg><![CDATA["} {
		m := takeMarkup(io.MultiReader(strings.NewReader(start), endlessText{}))
		m.skipsTexts = strings.HasPrefix(start, "<a ")
		for kind := m.next(); kind != endToken; kind = m.next() {
		}
		if m.err != errTokenTooLong || cap(m.buf) > 4*maxToken {
			t.Errorf("%q: %v after %d bytes", start, m.err, cap(m.buf))
		}
	}
}

type endlessText struct{}

func (endlessText) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
