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
