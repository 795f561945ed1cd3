package message

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/text/encoding/ianaindex"
)

// The table, and the names that browsers share with the IANA registry, decode as the registry does.
// Non-ASCII bytes in US-ASCII are decoded as Windows-1252; in the registry, they are errors.
func TestCharsetsAreThoseOfTheRegistry(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	names := strings.Fields("ISO-8859-2 iso_8859-5:1988 Windows-1251 Shift_JIS EUC-KR Big5 ISO-2022-JP KOI8-R UTF-16BE UTF-8 macintosh")
	for name := range charsets() {
		names = append(names, name)
	}
	for _, name := range names {
		enc, err := ianaindex.MIME.Encoding(name)
		if name == "ansi_x3.110-1983" || name == "x-utf_8j" {
			continue // seen in mail, but not in the registry
		}
		if err != nil || enc == nil {
			t.Errorf("%s is not in the registry: %v", name, err)
			continue
		}
		content := every
		if got, _ := ianaindex.MIME.Name(enc); got == "US-ASCII" {
			content = every[:128]
		}
		want, _ := io.ReadAll(enc.NewDecoder().Reader(bytes.NewReader(content)))
		for _, name := range []string{name, strings.ToUpper(name)} {
			r, err := decoded(name, bytes.NewReader(content))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, _ := io.ReadAll(r); !bytes.Equal(got, want) {
				t.Errorf("%s:\n got %q\nwant %q", name, got, want)
			}
		}
	}
	for _, name := range []string{"x-unknown", "", "utf-7"} {
		if _, err := decoded(name, nil); err == nil || !strings.HasSuffix(err.Error(), "is unknown") {
			t.Errorf("%q: error %v", name, err)
		}
	}
	if r, err := decoded("isolatin1", strings.NewReader("\xe9")); err != nil {
		t.Error(err)
	} else if got, _ := io.ReadAll(r); string(got) != "é" {
		t.Errorf("%q", got)
	}
}
