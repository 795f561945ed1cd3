package z3950

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

func FuzzURL(f *testing.F) {
	for _, s := range []string{"z39.50r://h:2100/a+b?x%20y;esn=f;rs=marc+1.2.3", "z39.50s://h/a?two+words;item=3", `z39.50s://h/a?@attr+1=4+@and+"x%20y"+z`, "z39.50s://h/a;esn=%0A", "z39.50s://[::1]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := uri.Parse(s)
		if err != nil || !strings.HasPrefix(u.Scheme(), "z39.50") {
			return
		}
		got, err := parse(u)
		if err != nil {
			return
		}
		if strings.ContainsAny(got.query+got.elements+strings.Join(got.databases, ""), "\r\n\x00") {
			t.Errorf("%s: %+v", s, got)
		}
		if got.query == "" || got.retrieval {
			return
		}
		words, document, err := got.searches()
		if err == nil {
			for _, q := range append(words, document...) {
				if _, err := (codec.Search{Databases: got.databases, Query: q}).Encode(); err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
		}
		record, err := got.recordURL(7)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		again, err := parse(record)
		if err != nil || again.item != 7 || again.resultKey() != got.resultKey() || again.elements != got.elements || len(again.syntaxes) != len(got.syntaxes) {
			t.Errorf("%s became %s: %+v, %v", s, record, again, err)
		}
	})
}

func FuzzAbout(f *testing.F) {
	f.Add(codec.SyntaxXML, []byte(plum))
	f.Add(codec.SyntaxUSMARC, pear)
	f.Add(codec.SyntaxSUTRS, []byte("\n\n x\ty\n"))
	f.Fuzz(func(t *testing.T, syntax string, b []byte) {
		a := describeRecord(syntax, b)
		if len(a.title)+len(a.author) > 2*(maxTitle+3) || strings.ContainsAny(a.title+a.author, "\r\n\t") {
			t.Errorf("%q", a)
		}
	})
}
