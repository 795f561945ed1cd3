package http

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// listed returns the entries of a multistatus, each as one line.
func listed(r io.Reader, dir string) (lines []string, err error) {
	for e, err := range davEntries(r, uri.MustParse(dir), time.Minute) {
		if err != nil {
			return lines, err
		}
		line := fmt.Sprintf("%s %q %s", e.Kind, e.Name, e.URL)
		if e.Size >= 0 {
			line += fmt.Sprintf(" size=%d", e.Size)
		}
		if !e.ModTime.IsZero() {
			line += " mtime=" + e.ModTime.UTC().Format(time.RFC3339)
		}
		if e.ContentType != "" {
			line += " type=" + e.ContentType
		}
		if tag, _ := e.Facts().Value("etag").(string); tag != "" {
			line += " etag=" + tag
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// TestMultistatusOfServers reads responses of Apache httpd 2.4.71 (mod_dav), nginx 1.22.1 (dav_ext) and
// rclone 1.60.1.
func TestMultistatusOfServers(t *testing.T) {
	t.Parallel()
	dir := `listing "deep" dav://h/sub/deep/ mtime=2026-11-29T22:23:51Z`
	file := func(escape string) string {
		return `object "a b#c%d?é.txt" dav://h/sub/a%20b%23c%25d%` + escape + ".txt size=2 mtime=2026-11-29T22:23:51Z"
	}
	for name, want := range map[string][]string{
		"apache": {dir + ` etag="1000-66171bf6da681"`, file("3f%c3%a9") + ` type=text/plain etag="2-66171bf6da681"`},
		"nginx":  {dir, file("3F%C3%A9")},
		"rclone": {file("3F%C3%A9") + ` type=text/plain; charset=utf-8 etag="18eca453c45269522"`, dir},
	} {
		text, err := os.ReadFile(filepath.Join("testdata/multistatus", name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := listed(iotest.OneByteReader(strings.NewReader(string(text))), "dav://h/sub/")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
		end := strings.Index(string(text), "</D:multistatus>")
		for n := strings.Index(string(text), "<D:response"); n < end; n += 7 { // a part is not a complete listing
			if _, err := listed(strings.NewReader(string(text[:n])), "dav://h/sub/"); fetch.CodeOf(err) != fetch.ErrTruncated {
				t.Errorf("%s: %v after %d bytes, want %s", name, err, n, fetch.ErrTruncated)
			}
		}
	}
}

const (
	oneDir  = `<response><href>/d/</href><propstat><prop><resourcetype><collection/></resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat></response>`
	oneFile = `<propstat><prop><resourcetype/></prop><status>HTTP/1.1 200 OK</status></propstat></response>`
)

func TestMultistatus(t *testing.T) {
	t.Parallel()
	within := func(text string) string { return `<multistatus xmlns="DAV:">` + oneDir + text + "</multistatus>" }
	hrefs := func(list ...string) string {
		var b strings.Builder
		for _, h := range list {
			b.WriteString("<response><href>" + h + "</href>" + oneFile)
		}
		return within(b.String())
	}
	props := func(list string) string {
		return within(`<response><href>/d/a</href>` + list + `</response>`)
	}
	for name, tt := range map[string]struct {
		text string
		want []string
		code fetch.Code
	}{
		"a directory without members": {text: within("")},
		"other prefixes": {text: `<x:multistatus xmlns:x="DAV:"><y:response xmlns:y="DAV:" xmlns="DAV:"><href>/d/a</href></y:response></x:multistatus>`,
			want: []string{`object "a" dav://h/d/a`}},
		"elements of another namespace": {text: within(`<response xmlns="x:"><href>/d/a</href></response><response><href xmlns="x:">/d/b</href><href>/d/c</href></response>`),
			want: []string{`object "c" dav://h/d/c`}},
		"a description and unknown elements": {text: within(`<responsedescription>x<b/></responsedescription><x><response><href>/d/b</href></response></x>`)},
		"a byte order mark and a comment":    {text: "\ufeff<!-- x -->" + within("")},
		"a document type":                    {text: `<!DOCTYPE multistatus [<!ENTITY e "x">]>` + within("")},

		"relative, absolute and parts": {text: hrefs("a", "/d/b", "http://h/d/c", "https://h:8443/d/e", "//h/d/f"),
			want: []string{`object "a" dav://h/d/a`, `object "b" dav://h/d/b`, `object "c" dav://h/d/c`, `object "e" dav://h/d/e`, `object "f" dav://h/d/f`}},
		"other servers":        {text: hrefs("http://other/d/a", "//other/d/a", "ftp://other/d/a", "http://h.other/d/a")},
		"other directories":    {text: hrefs("/", "/a", "/e/a", "/dd/a", "..", "../a", "/d/../a", "/d/%2e%2e", "/d/%2E%2E/a", "/d/%2e", "/d/x/y", "/d/x/y/", "?x", "/d/a?x")},
		"the directory itself": {text: within(`<response><href>/d</href></response><response><href>/%64/</href></response><response><href>http://h//d//</href></response><response><href>.</href></response>`)},
		"encoded names": {text: hrefs("/%64/a%2Fb", "/d/%00%0d%0a", "/d/%ff", "/d/a b", "/d/é", "/d/./a:b"), want: []string{
			`object "a/b" dav://h/d/a%2Fb`, `object "\x00\r\n" dav://h/d/%00%0d%0a`, `object "\xff" dav://h/d/%ff`, `object "a b" dav://h/d/a%20b`, `object "é" dav://h/d/%C3%A9`, `object "a:b" dav://h/d/a:b`}},
		"names with references":    {text: hrefs("/d/a&amp;b&#x41;", " /d/c\n"), want: []string{`object "a&bA" dav://h/d/a&bA`, `object "c" dav://h/d/c`}},
		"a name that is not a URL": {text: hrefs(`http://[/d/a`, ""), want: []string{`error "http://[/d/a: not a URL" `, `error ": not a URL" `}},

		"only properties with status 200": {text: props(`<propstat><prop><getcontentlength>1</getcontentlength><getetag>"x"</getetag></prop><status>HTTP/1.1 404 Not Found</status></propstat>` +
			`<propstat><status>HTTP/1.1 200 OK</status><prop><getlastmodified>Mon, 03 Feb 2020 04:05:06 GMT</getlastmodified></prop></propstat>` +
			`<propstat><prop><getcontenttype>text/plain</getcontenttype></prop></propstat>`),
			want: []string{`object "a" dav://h/d/a mtime=2020-02-03T04:05:06Z`}},
		"malformed properties": {text: props(`<propstat><prop><getcontentlength>-1</getcontentlength><getlastmodified>today</getlastmodified><getcontenttype>/</getcontenttype></prop><status>HTTP/1.1 200 OK</status></propstat>`),
			want: []string{`object "a" dav://h/d/a`}},
		"a large file": {text: props(`<propstat><prop><getcontentlength> 9000000000 </getcontentlength></prop><status>HTTP/2 200</status></propstat>`),
			want: []string{`object "a" dav://h/d/a size=9000000000`}},
		"the size of a directory": {text: props(`<propstat><prop><resourcetype><x xmlns="y:"/><collection/></resourcetype><getcontentlength>4096</getcontentlength></prop><status>HTTP/1.1 200 OK</status></propstat>`),
			want: []string{`listing "a" dav://h/d/a/`}},
		"directories by their slash": {text: within(`<response><href>/d/a/</href></response><response><href>/d/b/</href>` + oneFile),
			want: []string{`listing "a" dav://h/d/a/`, `object "b" dav://h/d/b`}},
		"members that are gone or refused": {text: within(`<response><href>/d/a</href><status>HTTP/1.1 404 Not Found</status></response><response><href>/d/b</href><status>HTTP/1.1 403 Forbidden</status></response>`),
			want: []string{`error "b: HTTP/1.1 403 Forbidden" `}},

		"a directory that is refused": {text: `<multistatus xmlns="DAV:"><response><href>/d/</href><status>HTTP/1.1 403 Forbidden</status></response></multistatus>`, code: fetch.ErrRefused},
		"a directory that is gone":    {text: `<multistatus xmlns="DAV:"><response><href>/d/</href><status>HTTP/1.1 404 Not Found</status></response></multistatus>`, code: fetch.ErrNotFound},
		"some members of many": {text: `<multistatus xmlns="DAV:"><response><href>/d/</href><status>HTTP/1.1 507 Insufficient Storage</status><error><number-of-matches-within-limits/></error></response>` +
			`<response><href>/d/a</href>` + oneFile + `</multistatus>`, want: []string{`object "a" dav://h/d/a`}, code: fetch.ErrTruncated},

		"nothing":                   {code: fetch.ErrProtocol},
		"another document":          {text: `<html><body/></html>`, code: fetch.ErrProtocol},
		"another namespace":         {text: `<multistatus xmlns="DAV">` + oneDir + `</multistatus>`, code: fetch.ErrProtocol},
		"no resources":              {text: `<multistatus xmlns="DAV:"/>`, code: fetch.ErrProtocol},
		"another directory":         {text: `<multistatus xmlns="DAV:"><response><href>/other/</href></response></multistatus>`, code: fetch.ErrProtocol},
		"a file":                    {text: `<multistatus xmlns="DAV:"><response><href>/d</href>` + oneFile + `</multistatus>`, code: fetch.ErrNotRetrievable},
		"a second document":         {text: within("") + within(""), code: fetch.ErrProtocol},
		"an end in an element":      {text: `<multistatus xmlns="DAV:">` + oneDir, code: fetch.ErrTruncated},
		"an end in a tag":           {text: `<multistatus xmlns="DAV:">` + oneDir + "</multi", code: fetch.ErrTruncated},
		"other ends":                {text: `<multistatus xmlns="DAV:">` + oneDir + "</response>", code: fetch.ErrProtocol},
		"Latin-1":                   {text: `<?xml version="1.0" encoding="ISO-8859-1"?>` + within(""), code: fetch.ErrProtocol},
		"bytes that are not UTF-8":  {text: within("\xff"), code: fetch.ErrProtocol},
		"an entity":                 {text: `<!DOCTYPE multistatus [<!ENTITY e SYSTEM "file:///etc/passwd">]>` + hrefs("/d/&e;"), code: fetch.ErrProtocol},
		"a long text":               {text: within(strings.Repeat("x", maxToken)), code: fetch.ErrProtocol},
		"a long tag":                {text: within("<" + strings.Repeat("x", maxToken)), code: fetch.ErrProtocol},
		"a long attribute":          {text: within(`<x a="` + strings.Repeat("x", maxToken)), code: fetch.ErrProtocol},
		"a long comment":            {text: within("<!--" + strings.Repeat("x", maxToken)), code: fetch.ErrProtocol},
		"a long document type":      {text: "<!DOCTYPE " + strings.Repeat("<a>", maxToken), code: fetch.ErrProtocol},
		"a long name":               {text: hrefs("/d/" + strings.Repeat("x", maxProperty)), code: fetch.ErrProtocol},
		"a long name in parts":      {text: hrefs("/d/" + strings.Repeat("xx<!-- -->", maxProperty/2)), code: fetch.ErrProtocol},
		"many attributes":           {text: within("<x " + strings.Repeat(`a="" `, maxAttributes+1) + "/>"), code: fetch.ErrProtocol},
		"many levels":               {text: within(strings.Repeat("<x>", maxNesting)), code: fetch.ErrProtocol},
		"many levels in a property": {text: props(`<propstat><prop><getetag>` + strings.Repeat("<x>", maxNesting)), code: fetch.ErrProtocol},
		"many unknown elements":     {text: within(strings.Repeat("<x/>", maxToken))},
	} {
		got, err := listed(strings.NewReader(tt.text), "dav://h/d/")
		if fetch.CodeOf(err) != tt.code || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q, class %q", name, got, err, tt.want, tt.code)
		}
	}
}

// TestMembersKeepTheURLOfTheirDirectory checks logins and ports, and directories in the root.
func TestMembersKeepTheURLOfTheirDirectory(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"davs://joe:x@h:8443/d/?x#y": `object "a" davs://joe:x@h:8443/d/a`,
		"http://h/d":                 `object "a" http://h/d/a`,
		"http://h/%64/":              `object "a" http://h/%64/a`,
	} {
		got, err := listed(strings.NewReader(`<multistatus xmlns="DAV:"><response><href>/d/a</href></response></multistatus>`), dir)
		if err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, %v, want %q", dir, got, err, want)
		}
	}
	got, err := listed(strings.NewReader(`<multistatus xmlns="DAV:"><response><href>/a</href></response></multistatus>`), "dav://h")
	if want := []string{`object "a" dav://h/a`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the root: %q, %v, want %q", got, err, want)
	}
}

// TestEndlessMultistatus reads entries until the caller has enough.
func TestEndlessMultistatus(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, `<multistatus xmlns="DAV:">`+oneDir)
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(w, "<response><href>/d/%d</href>%s", i, oneFile)
		}
	}()
	n := 0
	for _, err := range davEntries(r, uri.MustParse("dav://h/d/"), time.Minute) {
		if n++; err != nil || n == 10_000 {
			break
		}
	}
	if r.Close(); n != 10_000 {
		t.Errorf("%d entries", n)
	}
}

func FuzzMultistatus(f *testing.F) {
	files, _ := filepath.Glob("testdata/multistatus/*.xml")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`<multistatus xmlns="DAV:">` + oneDir + `<response><href>/sub/%2e%2e/a</href></response></multistatus>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := uri.MustParse("dav://h/sub/")
		for e, err := range davEntries(strings.NewReader(string(text)), dir, time.Minute) {
			if err != nil {
				if fetch.CodeOf(err) == "" {
					t.Errorf("an error without a class: %v", err)
				}
				return
			}
			rest, ok := strings.CutPrefix(e.URL.String(), dir.String())
			name := strings.TrimSuffix(rest, "/")
			if e.Kind != fetch.EntryError && (!ok || name == "" || strings.ContainsAny(name, "/?#") ||
				uri.UnescapeRaw(name) != e.Name || e.Name == "..") {
				t.Errorf("%q is not in the directory: %s", e.Name, e.URL)
			}
		}
	})
}
