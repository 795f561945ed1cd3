package links_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func TestPagesOfDirectories(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, page string
		want         []string
	}{
		{"nginx 1.22", `<html>
<head><title>Index of /d/</title></head>
<body>
<h1>Index of /d/</h1><hr><pre><a href="../">../</a>
<a href="sub/">sub/</a>                                               22-Nov-2026 17:06                   -
<a href="a%20b.txt">a b.txt</a>                                            05-Mar-2026 05:06                1234
<a href="a-very-long-name.iso">a-very-long-na..&gt;</a> 05-Mar-2026 05:07          4500000000
</pre><hr></body>
</html>`, []string{"../", "sub/", "a%20b.txt 2026-03-05 05:06:00 1234", "a-very-long-name.iso 2026-03-05 05:07:00 4500000000"}},
		{"Apache httpd 2.4, FancyIndexing", `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html>
 <head>
  <title>Index of /d</title>
 </head>
 <body>
<h1>Index of /d</h1>
<pre><img src="/icons/blank.gif" alt="Icon "> <a href="?C=N;O=D">Name</a>                    <a href="?C=M;O=A">Last modified</a>      <a href="?C=S;O=A">Size</a>  <a href="?C=D;O=A">Description</a><hr><img src="/icons/back.gif" alt="[PARENTDIR]"> <a href="/">Parent Directory</a>                             -   
<img src="/icons/text.gif" alt="[TXT]"> <a href="a.txt">a.txt</a>                   2026-03-05 05:06  123   
<img src="/icons/compressed.gif" alt="[   ]"> <a href="b.gz">b.gz</a>                    2026-03-05 05:07  1.2M  A file
<hr></pre>
<address>Apache/2.4.54 (Debian) Server at h Port 80</address>
</body></html>`, []string{"/icons/blank.gif", "/icons/back.gif", "/", "/icons/text.gif", "a.txt 2026-03-05 05:06:00 123",
			"/icons/compressed.gif", "b.gz 2026-03-05 05:07:00 -1"}},
		{"Apache httpd 2.4, HTMLTable", `<html><head><title>Index of /d</title></head><body><h1>Index of /d</h1>
  <table>
   <tr><th valign="top"><img src="/icons/blank.gif" alt="[ICO]"></th><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
   <tr><th colspan="5"><hr></th></tr>
<tr><td valign="top"><img src="/icons/folder.gif" alt="[DIR]"></td><td><a href="sub/">sub/</a></td><td align="right">2026-03-05 05:06  </td><td align="right">  - </td><td>&nbsp;</td></tr>
<tr><td valign="top"><img src="/icons/text.gif" alt="[TXT]"></td><td><a href="a.txt">a.txt</a></td><td align="right">2026-03-05 05:06  </td><td align="right"> 12 </td><td>&nbsp;</td></tr>
</table></body></html>`, []string{"/icons/blank.gif", "/icons/folder.gif", "sub/", "/icons/text.gif", "a.txt 2026-03-05 05:06:00 12"}},
		{"lighttpd 1.4", `<!DOCTYPE html><html><head><title>Index of /d/</title></head><body><h2>Index of /d/</h2>
<table><tbody><tr class="d"><td class="n"><a href="../">..</a>/</td><td class="m">&nbsp;</td><td class="s">- &nbsp;</td><td class="t">Directory</td></tr>
<tr><td class="n"><a href="a.txt">a.txt</a></td><td class="m">2026-Mar-05 05:06:07</td><td class="s">1.2K</td><td class="t">text/plain</td></tr></tbody></table></body></html>`,
			[]string{"../", "a.txt 2026-03-05 05:06:07 -1"}},
		{"another page", `<title>News</title><pre><a href="?C=N;O=D">N</a> <a href="a.txt">a.txt</a>  05-Mar-2026 05:06  1234</pre>`, []string{"?C=N;O=D", "a.txt"}},
		{"of other places", `<title>Index of /d/</title><pre><a href="/a.txt">a</a> 05-Mar-2026 05:06 1
<a href="http://other/d/x">x</a> 05-Mar-2026 05:06 1
<a href="x/y">y</a> 05-Mar-2026 05:06 1
<a href="x?y">y</a> 05-Mar-2026 05:06 1
<a href="">self</a> 05-Mar-2026 05:06 1
<a href="z">z</a> 05-Mar-2026 05:06 -9
<a href="w">w</a> 05-Mar-0001 05:06 9
<a href="v">v</a> 05-Mar-2026 05:06</pre>`,
			[]string{"/a.txt", "http://other/d/x", "x/y", "x?y", "", "z 2026-03-05 05:06:00 -1", "w", "v"}},
	} {
		base := uri.MustParse("http://h/d/?C=S;O=A")
		var got, want []string
		for e, err := range links.HTML(strings.NewReader(tt.page), base) {
			if err != nil {
				t.Fatalf("%s: %v", tt.server, err)
			}
			got = append(got, e.URL.String()+timeAndSize(e))
		}
		for _, text := range tt.want {
			ref, more, ok := strings.Cut(text, " ")
			r, err := uri.ParseRef(ref)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				more = " " + more
			}
			want = append(want, base.Resolve(r).String()+more)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", tt.server, got, want)
		}
	}
}

// timeAndSize formats the time and size of an entry in a directory index.
func timeAndSize(e fetch.Entry) string {
	if e.ModTime.IsZero() && e.Size < 0 {
		return ""
	}
	return fmt.Sprintf(" %s %d", e.ModTime.Format("2006-01-02 15:04:05"), e.Size)
}
