package links_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

var metaCharset = regexp.MustCompile(`<meta charset="[^"]*">`)

// withoutDeclaration removes the encoding that a copy declares and the page does not.
func withoutDeclaration(copied, page string) string {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if !strings.HasPrefix(page, mark) {
			copied = strings.TrimPrefix(copied, mark)
		}
	}
	return metaCharset.ReplaceAllString(copied, "")
}

// Browsers show a page from a disk without the header that named its encoding.
func TestCopiesDeclareTheirEncoding(t *testing.T) {
	t.Parallel()
	keep := func(fetch.Entry) (string, bool) { return "", false }
	for _, test := range []struct{ contentType, page, want string }{
		{"text/html; charset=windows-1251", "<html><head><title>\xcf</title>", `<html><head><meta charset="windows-1251"><title>` + "\xcf</title>"},
		{"text/html; charset=koi8-r", "<!doctype html>\n<p>\xcf", "<!doctype html>\n" + `<meta charset="koi8-r"><p>` + "\xcf"},
		{"text/html; charset=UTF-8", "<p>\u00e4", `<meta charset="utf-8"><p>` + "\u00e4"},
		{"text/html; charset=koi8-r", "<meta charset=koi8-r><p>\xcf", "<meta charset=koi8-r><p>\xcf"},
		{"text/html; charset=koi8-r", "<meta charset=utf-8><p>\xcf", `<meta charset="koi8-r"><meta charset=utf-8><p>` + "\xcf"},
		{"text/html; charset=koi8-r", "\xef\xbb\xbf<p>\u00e4", "\xef\xbb\xbf<p>\u00e4"},
		{"text/html; charset=utf-16le", "<\x00p\x00>\x00", "\xff\xfe<\x00p\x00>\x00"},
		{"text/html; charset=unknown", "<p>\xcf", "<p>\xcf"},
		{"text/html", "<iframe srcdoc='<p>\u00e4'></iframe>", "<iframe srcdoc='<p>\u00e4'></iframe>"},
		{"text/html; charset=utf-8", "<p>charset \u00e4", `<meta charset="utf-8"><p>charset ` + "\u00e4"},
		{"text/html; charset=koi8-r", "<META http-equiv=Content-Type content='text/html; charset = koi8-r'>", "<META http-equiv=Content-Type content='text/html; charset = koi8-r'>"},
		{"text/html", "<p>\xcf", "<p>\xcf"},
		{"application/xhtml+xml; charset=koi8-r", "<!DOCTYPE html><p>\xcf</p>", `<?xml version="1.0" encoding="koi8-r"?><!DOCTYPE html><p>` + "\xcf</p>"},
		{"application/xhtml+xml; charset=utf-8", "<p>\u00e4</p>", "<p>\u00e4</p>"},
	} {
		var got strings.Builder
		if err := links.RewriteHTML(&got, strings.NewReader(test.page), test.contentType, base, keep); err != nil || got.String() != test.want {
			t.Errorf("%s, %q: got %q, want %q, %v", test.contentType, test.page, got.String(), test.want, err)
		}
	}
}

func TestCopiesAllowTheirFiles(t *testing.T) {
	t.Parallel()
	keep := func(fetch.Entry) (string, bool) { return "", false }
	for policy, want := range map[string]string{
		"default-src http://h":                    "default-src http://h 'self' file:",
		"default-src 'none'; img-src h *.h":       "default-src 'none'; img-src h *.h 'self' file:",
		"script-src-elem https:; form-action h":   "script-src-elem https: 'self' file:; form-action h",
		"default-src 'self'; object-src 'none';":  "",
		"upgrade-insecure-requests":               "",
		"sandbox allow-scripts; report-uri /send": "",
	} {
		page := `<meta http-equiv="content-security-policy" content="` + policy + `">`
		if want == "" {
			want = policy
		}
		want = `<meta http-equiv="content-security-policy" content="` + want + `">`
		var got strings.Builder
		if err := links.RewriteHTML(&got, strings.NewReader(page), "", base, keep); err != nil || got.String() != want {
			t.Errorf("%s: got %s, want %s, %v", page, got.String(), want, err)
		}
	}
}

// TestNamesKeepTheirCaseInXML converts references in XML, where names in another case are other names.
func TestNamesKeepTheirCaseInXML(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ contentType, page, want string }{
		{"image/svg+xml", `<svg viewBox="0 0 1 1"><Image gradientUnits="x = 'Y'" xlink:href='/a' Id=z></Image></svg>`,
			`<svg viewBox="0 0 1 1"><Image gradientUnits="x = 'Y'" xlink:href="new" Id="z"></Image></svg>`},
		{"application/xhtml+xml", `<svg><use preserveAspectRatio="a" href="/b"/><style><![CDATA[a{background:url(/c)}]]></style></svg>`,
			`<svg><use preserveAspectRatio="a" href="new" /><style><![CDATA[a{background:url(new)}]]></style></svg>`},
		{"text/html", `<A HREF="/a">a</A>`, `<a href="new">a</A>`},
	} {
		var out strings.Builder
		err := links.RewriteHTML(&out, strings.NewReader(tt.page), tt.contentType, uri.MustParse("http://h/"),
			func(fetch.Entry) (string, bool) { return "new", true })
		if err != nil || out.String() != tt.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tt.contentType, err, out.String(), tt.want)
		}
	}
}
