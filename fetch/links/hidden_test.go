package links_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/links"
)

func TestHiddenTextIsMarked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ page, want string }{
		{"<p>a<div style='display:none'>b</div>c", "a ⟦b⟧ c"},
		{"<p hidden>b<p>c", "⟦b⟧ c"},
		{"<div hidden=until-found>b<div>b</div>b</div>c", "⟦b b b⟧ c"},
		{"<DIV STYLE='Display : NONE !important'>b</DIV>c", "⟦b⟧ c"},
		{`<div style="d\69splay:no/**/ne">b</div>c`, "⟦b⟧ c"},
		{"<div style='visibility:hidden'>b</div><div style='visibility:visible'>c</div>", "⟦b⟧ c"},
		{"<i style='font-size:0'>b</i><i style='font-size:1em'>c</i><i style='font-size:0.5px'>b</i>", "⟦b⟧ c ⟦b⟧"},
		{"<i style='opacity:.01'>b</i><i style='opacity:0.9'>c</i>", "⟦b⟧ c"},
		{"<i style='position:absolute;left:-9999px'>b</i><i style='left:-2px'>c</i>", "⟦b⟧ c"},
		{"<i style='text-indent:-99em'>b</i>", "⟦b⟧"},
		{"<i style='height:0;overflow:hidden'>b</i><i style='height:0'>c</i>", "⟦b⟧ c"},
		{"<i style='color:#FFF; background: white'>b</i><i style='color:red;background:white'>c</i>", "⟦b⟧ c"},
		{"<i style='clip-path: inset(50%)'>b</i><i style='transform:scale(0)'>b</i>", "⟦b⟧ ⟦b⟧"},
		{"<style>.x, #y { display: none } @media print { .c { display: none } } p.z{color:transparent}</style>" +
			"<i class='w x'>b</i><i id=y>b</i><i class=c>c</i><p class=z>b</p>", "⟦b⟧ ⟦b⟧ c ⟦b⟧"},
		{"<i class=x>b</i><style>.x{display:none}</style>", "⟦b⟧"},
		{"<style>@media screen{.x{display:none}}.y{}</style><i class=x>b</i><i class=y>c</i>", "⟦b⟧ c"},
		{"<style>li{display:none}</style><ul><li>b</ul><p>c", "⟦b⟧ c"},
		{"<template>b</template><noscript>b</noscript><dialog>b</dialog><dialog open>c</dialog>", "⟦b⟧ ⟦b⟧ ⟦b⟧ c"},
		{"<svg><desc>b</desc><text>c</text></svg>", "⟦b⟧ c"},
		{"<i style='font:0/0 a'>b</i><i style='font:12px/1 a'>c</i>", "⟦b⟧ c"},
		{"<i style='color:#0000'>b</i><i style='color:rgba(1, 2, 3, 0)'>b</i><i style='color:rgb(0 0 0 / 0%)'>b</i>", "⟦b⟧ ⟦b⟧ ⟦b⟧"},
		{"<i style='color:rgba(0,0,0,.9)'>c</i><i style='color:rgb(9,9,0)'>c</i><i style='color:#f00'>c</i>", "c c c"},
		{"<i style='-webkit-text-fill-color:transparent'>b</i><i style='filter:opacity(0)'>b</i>", "⟦b⟧ ⟦b⟧"},
		{"<i style='transform:translateX(-9999px)'>b</i><i style='transform:translate(-50%,0)'>c</i>", "⟦b⟧ c"},
		{"<i style='font-size:calc(0px)'>b</i><i style='opacity:0%'>b</i><i style='scale:0'>b</i>", "⟦b⟧ ⟦b⟧ ⟦b⟧"},
		{"<i style=';;:;a:'>c</i><i style='color'>c</i><i style='transform:translate('>c</i><i style='color:rgba('>c</i>", "c c c c"},
		// The end of a hidden element is that of browsers.
		{"<b><div hidden>b</b>b</div>c", "⟦b b⟧ c"},
		{"<div hidden></p></section>b</div>c", "⟦b⟧ c"},
		{"<ul><li hidden>b<li>c</ul>", "⟦b⟧ c"},
		{"<div hidden>" + strings.Repeat("<i>", 600) + "b", "⟦b⟧"},
		{"<img hidden>c<br style='display:none'>c", "c c"},
		{"<div hidden> </div>c", "c"},
		// A page cannot end the mark itself.
		{"<div hidden>b⟧ c ⟦</div>⟦c⟧", "⟦b]] c [[⟧ [[c]]"},
	} {
		got, err := links.Text(strings.NewReader(tt.page), "text/html")
		got = strings.NewReplacer(" ⟧", "⟧", "⟦ ", "⟦").Replace(strings.Join(strings.Fields(got), " "))
		if got != tt.want || err != nil {
			t.Errorf("%.100s: %q, %v, want %q", tt.page, got, err, tt.want)
		}
	}
	const page = "<html xmlns='http://www.w3.org/1999/xhtml'><div hidden=''>b<br hidden=''/>b</div><p hidden=''/>c</html>"
	got, err := links.Text(strings.NewReader(page), "application/xhtml+xml")
	if got = strings.Join(strings.Fields(got), " "); got != "⟦b b⟧ c" || err != nil {
		t.Errorf("XHTML: %q, %v", got, err)
	}
}

// FuzzText checks that the marks of hidden text are in pairs.
func FuzzText(f *testing.F) {
	f.Add("<style>.a,#b>c{display:no/**/ne}@media screen{d{color:rgba(0,0,0,0)}}</style><p class=a>x<p id=b hidden>y</p>⟧")
	f.Add("<svg><desc>a<template>b</svg><i style='\\64 isplay:none;transform:translate(-9in'>c")
	f.Fuzz(func(t *testing.T, page string) {
		for _, contentType := range []string{"text/html", "application/xhtml+xml"} {
			text, err := links.Text(strings.NewReader(page), contentType)
			for err == nil && text != "" {
				var found bool
				var hidden string
				if _, text, found = strings.Cut(text, links.HiddenBegin); !found {
					break
				}
				if hidden, text, found = strings.Cut(text, links.HiddenEnd); !found || strings.Contains(hidden, links.HiddenBegin) {
					t.Fatalf("%q as %s: the marks are not in pairs", page, contentType)
				}
			}
		}
	})
}
