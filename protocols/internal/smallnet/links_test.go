package smallnet

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/gemtext"
)

const text = "# Title\r\n=> a.gmi\tA page\n=>/b/ The directory b\n=>   \n=> ?x\n" +
	"=> https://example.org/   The   web  \n=> http://[ broken\n```\n=> no.gmi\n=: no\n``` end\n=> telnet://h.example/\n text => x\n" +
	"=: /post Write to us\n=:\n=> nex://h.example Night\n=> ../\n" +
	"=> https://h.example/ Web\n=> finger://h.example/ Who\n=> other://h.example/ Else\n=> last"

// schemes returns a registry with schemes with directories, one whose directories are HTML pages, and
// one without directories.
func schemes() *fetch.Registry {
	reg := new(fetch.Registry)
	for name, traits := range map[string]fetch.Traits{"gemini": {Tree: true}, "nex": {Tree: true}, "https": {Tree: true, HTML: true}, "finger": {}} {
		reg.Register(fetch.Scheme{Name: name, Traits: traits, Driver: fetch.DriverFunc(nil)})
	}
	return reg
}

func TestLinks(t *testing.T) {
	t.Parallel()
	const before = "object A page gemini://h/d/a.gmi\nlisting The directory b gemini://h/b/\nobject ?x gemini://h/d/p?x\n" +
		"object The   web https://example.org/\nerror http://[ broken \n"
	const after = "listing Night nex://h.example\nlisting, parent ../ gemini://h/\n" +
		"object Web https://h.example/\nobject Who finger://h.example/\nobject Else other://h.example/\nobject last gemini://h/d/last\n"
	const telnet = "session telnet://h.example/ telnet://h.example/\n"
	for name, tt := range map[string]struct {
		page Page
		want string
	}{
		"gemtext":   {Page{}, before + telnet + after},
		"prompts":   {Page{Prompts: true}, before + telnet + "search Write to us gemini://h/post\n" + after},
		"directory": {Page{Plain: true}, before + "object no.gmi gemini://h/d/no.gmi\n" + telnet + after},
	} {
		tt.page.Schemes, tt.page.Base = schemes(), uri.MustParse("gemini://h/d/p")
		var got strings.Builder
		for e, err := range tt.page.Links(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(e.Kind.String())
			if e.Rel == "parent" {
				got.WriteString(", parent")
			}
			got.WriteString(" " + e.Name + " " + e.URL.String() + "\n")
		}
		if got.String() != tt.want {
			t.Errorf("%s: got\n%swant\n%s", name, &got, tt.want)
		}
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("x", 3*gemtext.MaxLink) + "\n=> " + strings.Repeat("y", 2*gemtext.MaxLink) + "\n=> short\n"
	var got []string
	for e, err := range (Page{Schemes: schemes(), Base: uri.MustParse("gemini://h/")}).Links(strings.NewReader(page)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Kind.String()+" "+e.Name)
	}
	if want := "error link too long, object short"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTruncatedLinkIsIgnored checks that a truncated link is ignored, because its target is wrong.
func TestTruncatedLinkIsIgnored(t *testing.T) {
	t.Parallel()
	base := uri.MustParse("gemini://h.example/")
	for end, want := range map[error]string{io.EOF: "whole cut", fetch.ErrTruncated: "whole, transfer incomplete",
		&fetch.Error{Code: fetch.ErrTruncated, Err: wire.ErrLineTooLong}: "whole, transfer incomplete: line too long"} {
		var got []string
		r := io.MultiReader(strings.NewReader("=> /a whole\n=> /b cut"), iotest.ErrReader(end))
		for e, err := range (Page{Schemes: schemes(), Base: base}).Links(r) {
			if err != nil {
				got[len(got)-1] += ", " + err.Error()
				break
			}
			got = append(got, e.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("a page that ends with %v has %q, want %q", end, got, want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(text, true, false)
	f.Add(text, false, true)
	f.Fuzz(func(t *testing.T, text string, prompts, plain bool) {
		page := Page{Schemes: schemes(), Base: uri.MustParse("spartan://h.example/d/p"), Prompts: prompts, Plain: plain}
		for e, err := range page.Links(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != fetch.EntryError && !e.URL.IsAbs() || e.Kind == fetch.EntryError && !e.URL.IsZero() {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// TestPageEnds checks that a page may end within a line, and that errors of the reader are
// returned.
func TestPageEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	base := uri.MustParse("gemini://h/")
	for name, tt := range map[string]struct {
		in    io.Reader
		links int
		err   error
	}{
		"a long line":            {strings.NewReader("=> a\n" + long), 1, nil},
		"a long link":            {strings.NewReader("=> a\n=> " + long), 2, nil},
		"a link":                 {strings.NewReader("=> a\n=> b"), 2, nil},
		"a source that breaks":   {io.MultiReader(strings.NewReader("=> a\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), 1, io.ErrUnexpectedEOF},
		"one in a line too long": {io.MultiReader(strings.NewReader("=> a\n"+long), iotest.ErrReader(io.ErrUnexpectedEOF)), 1, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			links, failure := 0, error(nil)
			for _, err := range (Page{Schemes: schemes(), Base: base}).Links(tt.in) {
				if err != nil {
					failure = err
				} else if links++; links > 10 {
					t.Fatal("there is no end")
				}
			}
			if links != tt.links || failure != tt.err {
				t.Errorf("%d links, %v; want %d, %v", links, failure, tt.links, tt.err)
			}
		})
	}
}
