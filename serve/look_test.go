package serve_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

var classes = regexp.MustCompile(`<html lang="en" class="([^"]*)">`)

func (p page) classes() string { return classes.FindStringSubmatch(p.text)[1] }

func TestTheTypefaceIsAChoice(t *testing.T) {
	t.Parallel()
	u := start(t)
	p := u.open("data:,A%20pear.")
	if got := p.classes(); got != "" {
		t.Errorf("a page without a host has the classes %q", got)
	}
	choice := fieldsOf(t, p, "Serif for texts")
	choice.Set("face", "serif")
	p = u.post("/typeface", choice)
	p.want(t, http.StatusOK, "A pear.", "Sans serif for texts") // the same page
	if got := p.classes(); got != "serif" {
		t.Errorf("the classes are %q", got)
	}
	if got := u.get("/").classes(); got != "serif" {
		t.Errorf("the classes of the home page are %q", got)
	}
	home := u.post("/typeface", url.Values{"face": {`"><script>`}})
	home.want(t, http.StatusOK, "Where to?")
	if got := home.classes(); got != "" {
		t.Errorf("another typeface gives the classes %q", got)
	}
	choice.Set("s", "forged")
	u.post("/typeface", choice).want(t, http.StatusOK, "Where to?") // no page of an unsigned address
	r := u.request(http.MethodPost, "/typeface", strings.NewReader("face=serif"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://other.example")
	u.do(r).want(t, http.StatusForbidden)
}

func TestAHostHasAHue(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"a.txt": {Data: []byte("A pear.")}, "b/c.txt": {Data: []byte("An apple.")}}
	f := ftpd.Start(t, ftpd.Options{Tree: tree})
	u := start(t)
	root := u.open("ftp://" + f.Addr + "/").classes()
	if !regexp.MustCompile(`^hue(\d|1[01])$`).MatchString(root) {
		t.Errorf("the classes are %q", root)
	}
	if got := u.open("ftp://" + f.Addr + "/b/c.txt").classes(); got != root {
		t.Errorf("a page of one host has the classes %q and another %q", root, got)
	}
	u.get(u.open("ftp://"+f.Addr+"/").find(t, "/static/", "app.css")).want(t, http.StatusOK, "."+root+" { --hue: ")
}

func TestTheFootSaysWhatMatters(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"a.txt": {Data: []byte("A pear.")}}
	u := start(t)
	u.open("ftp://"+ftpd.Start(t, ftpd.Options{Tree: tree}).Addr+"/a.txt").want(t, http.StatusOK, "<footer>text/plain · 7 B · ftp</footer>")
	g := gopherd.Start(t, gopherd.Options{Tree: tree})
	u.open(g.URL+"/0/a.txt").want(t, http.StatusOK, "<footer>text/plain · gopher · the end of the content cannot be verified</footer>")
}
