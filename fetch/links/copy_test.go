package links_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
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
