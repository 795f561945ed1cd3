package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
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
	c := &config{path: "config"}
	if err := c.parse(strings.NewReader(strings.Repeat("quiet\n", maxConfig/6+1))); err == nil {
		t.Error("a file without end was read")
	}
	if err := c.parse(strings.NewReader(strings.Repeat("x", maxConfig))); err == nil {
		t.Error("a line without end was read")
	}
}

// FuzzConfig: whatever the file holds, no error repeats a line, and each line is one.
func FuzzConfig(f *testing.F) {
	f.Add("quiet\n[h.example]\nheader = X: y\r\n[gopher:]\nproxy h:1\n")
	f.Add("--=\n[\x00]\n[::1]\n  user\tjoe:secret")
	f.Fuzz(func(t *testing.T, text string) {
		c := &config{path: "config"}
		err := c.parse(strings.NewReader(text))
		if wrong := (*usageError)(nil); err != nil && !errors.As(err, &wrong) {
			t.Errorf("%T: %v", err, err)
		}
		for _, s := range append(c.sections, configSection{lines: c.global}) {
			for _, line := range s.lines {
				if strings.ContainsAny(line.name+line.value, "\n\x00") || line.number == 0 {
					t.Errorf("%+v", line)
				}
			}
		}
		c.checkSections()
	})
}

func TestFindSum(t *testing.T) {
	t.Parallel()
	const (
		md5    = "781e5e245d69b566979b86e28d23f2c7"
		sha256 = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
	)
	tests := []struct{ lines, want string }{
		{md5 + "  f\n", "md5:" + md5},
		{md5 + " *f\n", "md5:" + md5},
		{sha256 + "  dir/f\r\n", "sha256:" + sha256},
		{md5 + "  other\n" + sha256 + "  f\n", "sha256:" + sha256},
		{"SHA256 (f) = " + sha256 + "\n", "sha256:" + sha256},
		{"SHA256 (a (b)) = " + sha256 + "\n", ""},
		{"# signed\n\n" + md5 + "\n", "md5:" + md5},
		{md5 + "\n" + md5 + "\n", ""},
		{md5 + "  other\n", ""},
		{"zz" + md5[2:] + "  f\n", ""},
		{"hello\n", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got, ok := findSum([]byte(tt.lines), "f"); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: %q, %v", tt.lines, got, ok)
		}
	}
}

func TestSumFilesAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sums")
	if err := os.WriteFile(path, make([]byte, maxSums+1), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{sums: &sumFile{name: path}}
	if err := a.checksum(t.Context(), &job.Job{URL: uri.MustParse("http://h.example/f")}); fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Error(err)
	}
}

// FuzzFindSum: what is found in any file is a checksum.
func FuzzFindSum(f *testing.F) {
	f.Add([]byte("781e5e245d69b566979b86e28d23f2c7  f\nMD5 (f) = 0\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		if sum, ok := findSum(lines, "f"); ok != (sum != "") {
			t.Errorf("%q, %v", sum, ok)
		}
	})
}
