package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/uri"
)

func TestConfigSections(t *testing.T) {
	t.Parallel()
	tests := []struct{ section, url string }{
		{"[h.example]", "http://H.example:8080/"}, {"[H.EXAMPLE]", "ftp://h.example/"}, {"[::1]", "http://[::1]/"},
		{"[[::1]]", "http://[::1]/"}, {"[bücher.example]", "http://xn--bcher-kva.example/"}, {"[gopher:]", "gopher://h/"}, {"[FTP:]", "ftp://h/"},
	}
	for _, tt := range tests {
		if s, ok := parseSection(tt.section); !ok || !s.matches(uri.MustParse(tt.url)) || s.matches(uri.MustParse("http://other.example/")) {
			t.Errorf("%s: %+v, %v", tt.section, s, ok)
		}
	}
	for _, text := range []string{"[", "[]", "[h", "[:]", "[h/x]", "[h:80]", "[http://h]", "[a b]", "[1x:]"} {
		if s, ok := parseSection(text); ok {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

func TestConfigIsBounded(t *testing.T) {
	t.Parallel()
	table := flags.New().Table()
	c := &File{path: "config"}
	if err := c.parse(strings.NewReader(strings.Repeat("quiet\n", maxConfig/6+1)), table); err == nil {
		t.Error("a file without end was read")
	}
	if err := c.parse(strings.NewReader(strings.Repeat("x", maxConfig)), table); err == nil {
		t.Error("a line without end was read")
	}
}

// FuzzConfig checks that errors never quote the file, and that each described line is one line.
func FuzzConfig(f *testing.F) {
	f.Add("quiet\n[h.example]\nheader = X: y\r\n[gopher:]\nproxy h:1\n")
	f.Add("--=\n[\x00]\n[::1]\n  user\tjoe:secret")
	table := flags.New().Table()
	f.Fuzz(func(t *testing.T, text string) {
		c := &File{path: "config"}
		err := c.parse(strings.NewReader(text), table)
		if wrong := (*failure.Usage)(nil); err != nil && !errors.As(err, &wrong) {
			t.Errorf("%T: %v", err, err)
		}
		for _, s := range append(c.sections, section{lines: c.global}) {
			for _, line := range s.lines {
				if strings.ContainsAny(line.name+line.value, "\n\x00") || line.number == 0 {
					t.Errorf("%+v", line)
				}
			}
		}
		c.checkSections()
	})
}
