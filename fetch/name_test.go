package fetch_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
)

func TestSafeName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	tests := []struct{ in, want string }{
		{"a.txt", "a.txt"},
		{"", ""},
		{".", ""},
		{"..", ""},
		{"...", ""},
		{". . ", ""},
		{"../../etc/passwd", "passwd"},
		{`..\..\boot.ini`, "boot.ini"},
		{"/", ""},
		{"dir/", ""},
		{"a\x00b\r\nc\x1b[2J.txt", "abc[2J.txt"},
		{"a\u202egpj.exe", "agpj.exe"},
		{"\ufeffa", "a"},
		{"c:evil", "c_evil"},
		{"a.txt::$DATA", "a.txt__$DATA"},
		{`<a>|"b"?*`, "_a___b___"},
		{"  a b  ", "a b"},
		{"name. . .", "name"},
		{".profile", "_.profile"},
		{"-rf", "_-rf"},
		{"~", "_~"},
		{"x/~", "_~"},
		{"~.", "_~"},
		{"~user", "~user"},
		{"x/.bashrc", "_.bashrc"},
		{`x\-rf`, "_-rf"},
		{" \u200b.x", "_.x"},
		{"-. ", "_-"},
		{"_.x", "_.x"},
		{"." + long, "_." + long[:238]},
		{"nul." + long, "_nul." + long[:235]},
		{"a.-b", "a.-b"},
		{"ünïcödé.txt", "ünïcödé.txt"},
		{"latin\xe9.txt", "latin_.txt"},
		{"nul", "_nul"},
		{"NUL.txt", "_NUL.txt"},
		{"con .tar.gz", "_con .tar.gz"},
		{"Com1", "_Com1"},
		{"LPT³.x", "_LPT³.x"},
		{"COM10", "COM10"},
		{"console", "console"},
		{"aux./", ""},
		{long, long[:240]},
		{long + ".tar.gz", long[:237] + ".gz"},
		{"a." + long, "a." + long[:238]},
		{"x" + strings.Repeat("é", 200), "x" + strings.Repeat("é", 119)},
	}
	for _, tt := range tests {
		if got := fetch.SafeName(tt.in); got != tt.want {
			t.Errorf("SafeName(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", `a\b`, "nul", "a\x00", "é" + strings.Repeat("é", 200), " .", "NUL ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := fetch.SafeName(s)
		switch {
		case got == "":
			return
		case len(got) > 255, !utf8.ValidString(got), strings.ContainsAny(got, "/\\\x00\r\n:"):
			t.Errorf("SafeName(%q) = %q", s, got)
		case !filepath.IsLocal(got), filepath.Base(got) != got, strings.Trim(got, ".") == "":
			t.Errorf("SafeName(%q) = %q, which is not one element", s, got)
		case got[0] == '.', got[0] == '-':
			t.Errorf("SafeName(%q) = %q, which is hidden or an option", s, got)
		case fetch.SafeName(got) != got:
			t.Errorf("SafeName(%q) = %q, and again %q", s, got, fetch.SafeName(got))
		}
	})
}
