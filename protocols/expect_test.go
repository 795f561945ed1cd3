package protocols_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

// TestExpectations checks the metadata that follow from a URL, without a server.
func TestExpectations(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	const listing, form = "(a listing)", "(a form)"
	for url, want := range map[string]string{
		"wais://h/":                      listing,
		"wais://h/fruit?pear":            listing,
		"wais://h/fruit":                 "fruit.src",
		"gopher://h/":                    listing,
		"gopher://h/1/docs":              listing,
		"gopher://h/7/find%09pear":       listing,
		"gopher://h/0/docs/a.txt":        "a.txt",
		"gopher://h/0/docs/a.txt%09%09+": "a.txt",
		"gopher://h/0/docs/a.txt%09%09!": "a.txt.attributes",
		"gopher://h/0/docs/order%09%09?": form,
		"gopher://h/9/x/.bashrc":         ".bashrc",
		"ftp://h/":                       listing,
		"ftp://h/pub/":                   listing,
		"ftp://h/pub;type=d":             listing,
		"ftp://h/pub/*.txt":              listing,
		"ftp://h/pub/a.txt;type=a":       "a.txt",
		"news://h/a.group":               listing,
		"news://h/*":                     listing,
		"news://h/1@x.example":           "1@x.example.eml",
		"nntp://h/a.group/12":            "a.group-12.eml",
		"nex://h/a.txt":                  "a.txt",
		"dict://h/d:word":                "word.txt",
		"dict://h/m:word":                listing,
		"whois://h/example.org":          "example.org.txt",
		"finger://h/joe":                 "joe",
		"cso://h/joe":                    listing,
		"z39.50s://h/":                   listing,
		"z39.50s://h/db?words":           listing,
		"http://h/a/b.html?x":            "b.html",
	} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(url)})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := download.Name(x.URL, x.Expected)
		if m := x.Expected; m != nil && m.Form != nil {
			got = form
		} else if m != nil && m.Kind == fetch.KindListing {
			got = listing
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
