package links_test

import (
	htmlpkg "html"
	"io"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ content, contentType, rel, want string }{
		{"<a href=x>", "", "", "text/html"},
		{"\n \t<!-- c --><p>", "", "a", "text/html"},
		{"\xef\xbb\xbf<!DOCTYPE html>", "", "", "text/html"},
		{"<?xml version='1.0'?><urlset>", "", "", "text/xml"},
		{"a { b: url(c) }", "", "stylesheet", "text/css"},
		{"<a href=x>", "text/plain", "", "text/plain"},
		{"<a href=x>", "application/octet-stream", "stylesheet", "application/octet-stream"},
		{"{}", "application/json", "manifest", "application/manifest+json"},
		{"<p>not found", "text/html; charset=x", "manifest", "text/html; charset=x"},
		{"<anchor", "", "", ""},
		{"<a href=x>", "unknown/unknown", "", "text/html"},
		{"<a href=x>", "*/*", "a", "text/html"},
		{"<a href=x>", `"text/html"`, "a", "text/html"},
		{"words", "application/unknown", "a", "application/unknown"},
		{"import '/x'", "", "script", "text/javascript"},
		{"import '/x'", "", "import", "text/javascript"},
		{"\x89PNG\r\n\x1a\n", "", "img", ""},
		{"", "", "", ""},
	} {
		got, whole := links.Sniff(strings.NewReader(test.content), test.contentType, test.rel)
		text, err := io.ReadAll(whole)
		if got != test.want || string(text) != test.content || err != nil {
			t.Errorf("%q of %q by %q: %q and %q, want %q, %v", test.content, test.contentType, test.rel, got, text, test.want, err)
		}
	}
}

func TestLinksOfOtherDocuments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		contentType, content string
		want                 []string
	}{
		{"application/manifest+json", `{"start_url": "/?app", "icons": [{"src": "i.png", "type": "image/png"}, {}], "screenshots": [{"src": "/s.png"}], "shortcuts": [{"url": "new", "icons": [{"src": "/n.png"}]}]}`,
			[]string{"a http://h.example/?app", "icon http://h.example/dir/i.png", "screenshot http://h.example/s.png", "a http://h.example/dir/new", "icon http://h.example/n.png"}},
		{"application/manifest+json", "\xef\xbb\xbf" + `{"start_url": 1, "icons": [{"src": "/i"}, "x", null, {"src": 2}], "shortcuts": null, "screenshots": {}}`, []string{"icon http://h.example/i"}},
		{"application/manifest+json", `[]`, []string{"error protocol violation"}},
		{"text/html", `<script type=module>import '/a'; import b from './b'</script><script>import('/c')</script><a href=d>`,
			[]string{"import http://h.example/a", "import http://h.example/dir/b", "a http://h.example/dir/d"}},
		{"text/html", `<script type=importmap>{"imports": {"react": "/r.js", "x/": "/x/", "y": null}, "scopes": {"/s/": {"react": "./s.js"}}}</script><script type=importmap>[</script>`,
			[]string{"import http://h.example/dir/s.js", "import http://h.example/r.js"}},
		{"text/html", `<template><base href=/t/></template><svg><base href=/u/></base></svg></template><a href=x></a><base href=/v/><a href=y></a>`,
			[]string{"a http://h.example/dir/x", "a http://h.example/v/y"}},
		{"text/html", `<meta name="msapplication-TileImage" content="t.png">`, []string{"msapplication-tileimage http://h.example/dir/t.png"}},
		{"application/manifest+json", `{"icons": `, []string{"error protocol violation"}},
		{"text/javascript", `import "/a"; import b, {c as d} from './b.js'; import * as e from "../e";export*from"./f";import("./g")`,
			[]string{"import http://h.example/a", "import http://h.example/dir/b.js", "import http://h.example/e", "import http://h.example/dir/f", "import http://h.example/dir/g"}},
		{"application/javascript", "import 'react'; import x from \"https://cdn/x.mjs\"", []string{"import https://cdn/x.mjs"}},
		{"text/javascript", `// import "/a"` + "\n" + `/* import "/b" */ x = 'import "/c"' + /"import \/d/ / 2 + ` + "`import \"/e\"`" + `; y.import("/f"); import.meta.url + "/g"; export default "/h"; export const i = "/i"; export { j }; k("/k")`, nil},
		{"text/javascript", `if (a) /"/.test("/b"); import(c ? "/d" : "/e"); import(` + "`/f`" + `); import "/g"`, []string{"import http://h.example/g"}},
		{"text/html", `<iframe srcdoc="<img src=a.png><base href=/x/><iframe srcdoc='&lt;a href=b&gt;c'></iframe>"></iframe><a href=d>`,
			[]string{"img http://h.example/dir/a.png", "a http://h.example/x/b c", "a http://h.example/dir/d"}},
		{"text/html", `<link rel="preconnect" href="//cdn"><link rel=dns-prefetch href=//cdn><link rel="alternate stylesheet" href=dark.css><link rel="nofollow icon" href=i><link rel="prev" href=p>`,
			[]string{"stylesheet http://h.example/dir/dark.css", "icon http://h.example/dir/i", "prev http://h.example/dir/p"}},
		{"text/html", `<applet code=A.class codebase=/java archive="a.jar, b.jar">`,
			[]string{"applet http://h.example/java/A.class", "applet http://h.example/java/a.jar", "applet http://h.example/java/b.jar"}},
	} {
		seq, ok := links.Read(strings.NewReader(test.content), test.contentType, base)
		if !ok {
			t.Errorf("%s has no links", test.contentType)
			continue
		}
		if got := collect(seq); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.content, got, test.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	resp := &fetch.Response{URL: uri.MustParse("http://h/d/p"), Meta: fetch.Meta{Header: textproto.MIMEHeader{
		"Link": {`<s.css>; rel="stylesheet alternate"; type=text/css, </n>; rel=next`, `<//cdn>; rel=preconnect`,
			`<x>; rel=up; anchor="/other"`, `</r>`},
		"Refresh": {"0; url=/next"},
	}}}
	var got []string
	for e := range links.Fields(resp) {
		got = append(got, e.Rel+" "+e.URL.String()+" "+e.ContentType)
	}
	want := []string{"stylesheet http://h/d/s.css text/css", "next http://h/n ", "link http://h/r ", "refresh http://h/next "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLongDocuments(t *testing.T) {
	t.Parallel()
	read := func(contentType, content string) []string {
		seq, _ := links.Read(strings.NewReader(content), contentType, base)
		return collect(seq)
	}
	blank := strings.Repeat(" ", 4<<20)
	if got := read("application/manifest+json", `{"start_url": "/"}`+blank); !slices.Equal(got, []string{"error larger than the limit"}) {
		t.Errorf("a manifest: %q", got)
	}
	if got := read("text/javascript", `import "/a"`+strings.Repeat(blank, 4)); got != nil {
		t.Errorf("a script: %q", got)
	}
	frames := "<img src=deep>"
	for range 5 {
		frames = `<img src=a><iframe srcdoc="` + htmlpkg.EscapeString(frames) + `"></iframe>`
	}
	if got := read("text/html", frames); !slices.Equal(got, slices.Repeat([]string{"img http://h.example/dir/a"}, 5)) {
		t.Errorf("frames: %q", got)
	}
}
