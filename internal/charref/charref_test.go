package charref_test

import (
	"encoding/xml"
	"fmt"
	"testing"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/internal/charref"
)

func check(t *testing.T, text string) {
	t.Helper()
	if got, want := string(charref.AppendText(nil, []byte(text))), html.UnescapeString(text); got != want {
		t.Errorf("%q: %q, want %q", text, got, want)
	}
}

func TestReferencesByNumber(t *testing.T) {
	t.Parallel()
	for n := range 0x110010 {
		check(t, fmt.Sprintf("&#%d;", n))
		if n < 0x100 || n%0x100 == 0xFF {
			check(t, fmt.Sprintf("a&#x%x b&#X%X;&#%dz", n, n, n))
		}
	}
}

func TestReferencesByName(t *testing.T) {
	t.Parallel()
	for name := range xml.HTMLEntity {
		check(t, "&"+name+";")
		check(t, "&"+name)
		check(t, "a&"+name+"b;")
	}
}

var unusual = []string{"", "&", "&&", "a&;b", "&#", "&#;", "&#x", "&#x;", "&#xg;", "&#5", "&#x5", "&# 5;",
	"&amp", "&ampamp;", "&notit;", "&notin;", "&NotEqualTilde;", "&bne;", "&nGt;", "&nLt;", "&nLt", "&no",
	"&amp;amp;", "&#38;amp;", "&#99999999999;", "&#xFFFFFFFF1;", "&#x110000;", "&#4294967361;",
	"\x00&lt\x00", "&é;", "&copy\r\n&CounterClockwiseContourIntegral"}

func TestUnusualReferences(t *testing.T) {
	t.Parallel()
	for _, text := range unusual {
		check(t, text)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, text := range unusual {
		f.Add(text)
	}
	f.Fuzz(check)
}
