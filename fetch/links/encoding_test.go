package links_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
)

// Paths are in UTF-8 and queries in the encoding of the page, as in browsers.
func TestEncodingOfPages(t *testing.T) {
	t.Parallel()
	const latin1, utf8, eucJP = "text/html; charset=ISO-8859-1", "text/html; charset=utf-8", "text/html; charset=EUC-JP"
	tests := []struct {
		name, contentType, html string
		want                    []string
		rewritten               string // with each reference replaced by "é"
	}{
		{"Latin-1", latin1, "<a href=\"fran\xe7ais.html\">\xe9</a>", []string{"a http://h.example/dir/fran%C3%A7ais.html é"}, "<a href=\"\xe9\">\xe9</a>"},
		{"a query in Latin-1", latin1, "<a href=\"\xe9?q=\xe9&r=1#\xe9\">", []string{"a http://h.example/dir/%C3%A9?q=%E9&r=1#%C3%A9"}, "<a href=\"\xe9\">"},
		{"a character reference in Latin-1", latin1, "<a href=\"&eacute;?&eacute;&#8364;&#26085;\">", []string{"a http://h.example/dir/%C3%A9?%E9%80%26%23%32%36%30%38%35%3B"}, "<a href=\"\xe9\">"},
		{"both", latin1, "<a href=\"&eacute;\xe9\">", []string{"a http://h.example/dir/%C3%A9%C3%A9"}, "<a href=\"\xe9\">"},
		{"EUC-JP", eucJP, "<a href=\"http://\xc6\xfc\xcb\xdc.example/\xc6\xfc?\xc6\xfc\">", []string{"a http://日本.example/%E6%97%A5?%C6%FC"}, ""},
		{"a query in ISO-2022-JP", "text/html; charset=iso-2022-jp", "<a href=\"?\x1b$BF|K\\\x1b(B&\x1b$BF|\x1b(B&#8364;&#8364;&#26085;\">",
			[]string{"a http://h.example/dir/page.html?%1B%24%42%46%7C%4B%5C%1B%28%42&%1B%24%42%46%7C%1B%28%42%26%23%38%33%36%34%3B%26%23%38%33%36%34%3B%1B%24%42%46%7C%1B%28%42"}, ""},
		{"EUC-JP with a character that it lacks", eucJP, "<a title=\"\xc6\xfc\" href=x>", []string{"a http://h.example/dir/x"}, ""},
		{"a meta element", "text/html", "<meta charset=windows-1251><a href=\"\xe9\">", []string{"a http://h.example/dir/%D0%B9"}, ""},
		{"the content type goes first", latin1, "<meta charset=windows-1251><a href=\"\xe9\">", []string{"a http://h.example/dir/%C3%A9"}, ""},
		{"UTF-8", utf8, "<a href=\"é?é\">", []string{"a http://h.example/dir/%C3%A9?%C3%A9"}, "<a href=\"é\">"},
		{"UTF-8 without a declaration", "text/html", "<a href=\"é?é\">", []string{"a http://h.example/dir/%C3%A9?%C3%A9"}, "<a href=\"é\">"},
		{"UTF-8 after ASCII", "", strings.Repeat(" ", 5000) + "<a href=\"é?é\">", []string{"a http://h.example/dir/%C3%A9?%C3%A9"}, ""},
		{"Latin-1 after ASCII", latin1, strings.Repeat(" ", 5000) + "<a href=\"\xe9?\xe9\">", []string{"a http://h.example/dir/%C3%A9?%E9"}, ""},
		{"windows-1252 after ASCII", "", strings.Repeat(" ", 5000) + "<a href=\"\x80\">", []string{"a http://h.example/dir/%E2%82%AC"}, ""},
		{"a meta element in capitals", "", "<META CHARSET=WINDOWS-1251>" + strings.Repeat(" ", 5000) + "<a href=\"\xe9\">", []string{"a http://h.example/dir/%D0%B9"}, ""},
		{"neither", "text/html", "<a href=\"\xe9?\xe9\">", []string{"a http://h.example/dir/%C3%A9?%E9"}, "<a href=\"\xe9\">"},
		{"an unknown encoding", "text/html; charset=x-none", "<a href=\"é\">", []string{"a http://h.example/dir/%C3%A9"}, ""},
		{"a style", latin1, "<style>p { background: url(\xe9) }</style>", []string{"css http://h.example/dir/%C3%A9"}, "<style>p { background: url(\xe9) }</style>"},
		{"a tag without references", latin1, "<p title='\xe9'  Class=x>", nil, "<p title='\xe9'  Class=x>"},
	}
	for _, tt := range tests {
		contentType := tt.contentType
		if contentType == "" {
			contentType = "text/html"
		}
		seq, _ := links.Read(strings.NewReader(tt.html), contentType, base)
		if got := collect(seq); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.rewritten == "" {
			continue
		}
		var b strings.Builder
		var refs []string
		err := links.RewriteHTML(&b, strings.NewReader(tt.html), contentType, base, func(e fetch.Entry) (string, bool) {
			refs = append(refs, e.Rel+" "+e.URL.String())
			return "é", true
		})
		if err != nil || withoutDeclaration(b.String(), tt.rewritten) != tt.rewritten {
			t.Errorf("%s: rewritten as %q, %v, want %q", tt.name, b.String(), err, tt.rewritten)
		}
		for i, ref := range refs {
			if !strings.HasPrefix(tt.want[i], ref) {
				t.Errorf("%s: RewriteHTML reads %s, want %s", tt.name, ref, tt.want[i])
			}
		}
	}
}

// References in style sheets are in UTF-8, whatever the encoding of the style sheet. A converted copy is
// in UTF-8 and says so.
func TestEncodingOfStyleSheets(t *testing.T) {
	t.Parallel()
	const sheet, copied, want = `a{b:url(é.png)}/*é*/`, "\ufeffa{b:url(x)}/*é*/", "http://h.example/dir/%C3%A9.png"
	latin1, wide := strings.ReplaceAll(sheet, "é", "\xe9"), ""
	for _, c := range sheet {
		wide += string([]byte{byte(c), byte(c >> 8)})
	}
	const declared = `@charset "iso-8859-1";`
	for _, tt := range []struct{ name, contentType, css, copied string }{
		{"the content type", "text/css; charset=iso-8859-1", latin1, copied},
		{"the content type goes first", "text/css; charset=utf-8", declared + sheet, declared + copied[3:]},
		{"@charset", "text/css", declared + latin1, "\ufeff" + declared + copied[3:]},
		{"@charset of UTF-16 is UTF-8", "text/css", `@charset "utf-16";` + sheet, `@charset "utf-16";` + copied[3:]},
		{"a byte order mark goes first", "text/css; charset=iso-8859-1", "\ufeff" + sheet, copied},
		{"UTF-16", "text/css", "\xff\xfe" + wide, copied},
		{"UTF-16 without a mark", "text/css; charset=utf-16le", wide, copied},
		{"no declaration", "text/css", sheet, copied[3:]},
		{"no declaration, but not UTF-8", "text/css", latin1, copied},
		{"an unknown charset", "text/css; charset=x-none", sheet, copied[3:]},
	} {
		seq, _ := links.Read(strings.NewReader(tt.css), tt.contentType, base)
		if got := collect(seq); !slices.Equal(got, []string{"css " + want}) {
			t.Errorf("%s: %q, want %s", tt.name, got, want)
		}
		var b strings.Builder
		err := links.RewriteCSS(&b, strings.NewReader(tt.css), tt.contentType, base, func(e fetch.Entry) (string, bool) {
			return "x", e.URL.String() == want
		})
		if err != nil || b.String() != tt.copied {
			t.Errorf("%s: copied as %q, %v, want %q", tt.name, b.String(), err, tt.copied)
		}
	}
}
