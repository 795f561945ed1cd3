package find_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetch/uri/find"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInText(t *testing.T) {
	t.Parallel()
	const bad = "error"
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"none", "no URL: in a < b > c, 12:30, C:\\x, foo:bar", nil},
		{"empty", "", nil},
		{"bare", "see http://h/x?y#z and ftp://h/", []string{"http://h/x?y#z", "ftp://h/"}},
		{"bare alone", "gopher://h/7/x%09y", []string{"gopher://h/7/x%09y"}},
		{"any scheme", "x-a+b://h and tn3270://h, WAIS://h/db?x", []string{"x-a+b://h", "tn3270://h", "WAIS://h/db?x"}},
		{"without //", "mailto:a@b, news:comp.lang.c. urn:isbn:0451450523; (mid:a@b)",
			[]string{"mailto:a@b", "news:comp.lang.c", "urn:isbn:0451450523", "mid:a@b"}},
		{"prose", "good news: none; tel: see below; goodnews:x; file:x", nil},
		{"end of a sentence", "http://h/a. http://h/b, http://h/c! http://h/d?", []string{"http://h/a", "http://h/b", "http://h/c", "http://h/d"}},
		{"no space between sentences", "the end.http://h/x", []string{"http://h/x"}},
		{"list", "-http://h/a\n- http://h/b\n*http://h/c", []string{"http://h/a", "http://h/b", "http://h/c"}},
		{"after digits", "1http://h/a", nil},
		{"brackets", "(http://h/a) [http://h/b] (http://h/c_(d)) {http://h/e}",
			[]string{"http://h/a", "http://h/b", "http://h/c_(d)", "http://h/e"}},
		{"quotes", `"http://h/a" “http://h/b” «http://h/c», ‘http://h/d.’`,
			[]string{"http://h/a", "http://h/b", "http://h/c", "http://h/d"}},
		{"login and port", "ftp://u:p@h:2121/x http://[::1]:8080/y", []string{"ftp://u:p@h:2121/x", "http://[::1]:8080/y"}},
		{"international", "http://bücher.example/ü", []string{"http://bücher.example/%C3%BC"}},
		{"malformed", "http://h:99999/ http://h/", []string{"http://h/"}},

		{"wrapped", "<URL:ftp://h/a\n  b> <http://h/c\n/d>, <mailto:a@b>", []string{"ftp://h/ab", "http://h/c/d", "mailto:a@b"}},
		{"wrapped with blanks", "< url: ftp://h/a >", []string{"ftp://h/a"}},
		{"wrapped and malformed", "<URL:http://h:x/> <URL:a> <http://h:x/> http://h/", []string{bad, bad, "http://h/"}},
		{"wrapped and bare", "http://h/a<http://h/b>http://h/c", []string{"http://h/a", "http://h/b", "http://h/c"}},
		{"not closed", "<http://h/a <URL:http://h/b", []string{"http://h/a", "http://h/b"}},
		{"markup", `<p class="x">http://h/a</p> <a href="http://h/b">`, []string{"http://h/a", "http://h/b"}},
		{"XML", `<svg:rect> <x:http://h/a>`, []string{"http://h/a"}},
	} {
		var got []string
		for u, err := range find.InText(c.in) {
			if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
				got = append(got, bad)
				continue
			}
			got = append(got, u.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestInTextStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"http://h/a http://h/b", "<URL:http://h/a> http://h/b", "<http://h/a> http://h/b", "<URL:x> http://h/b"} {
		for range find.InText(text) {
			break // must not panic
		}
	}
}

func FuzzInText(f *testing.F) {
	for _, s := range []string{"see http://h/a.", "(mailto:a@b)", "<URL:http://h/a\nb>, <news:x>", "<<a:b>>:://x", "-+x://h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for u, err := range find.InText(text) {
			n++
			if (err == nil) != u.IsAbs() {
				t.Errorf("%q gives %q, %v", text, u, err)
			}
			if again, perr := uri.Parse(u.String()); perr != nil || again != u {
				t.Errorf("%q gives %q, which parses to %q, %v", text, u, again, perr)
			}
		}
		if n > strings.Count(text, ":") {
			t.Errorf("%q gives %d URLs", text, n)
		}
	})
}

func BenchmarkInText(b *testing.B) {
	text := strings.Repeat("It was said: at 12:30 we meet, see http://www.example.org/a/b?c=d (or <URL:ftp://h/x>).\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n := 0
		for range find.InText(text) {
			n++
		}
		if n != 2000 {
			b.Fatal(n)
		}
	}
}
