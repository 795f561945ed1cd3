package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

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
	s := &sumFile{name: path}
	if err := s.checksum(t.Context(), nil, &job.Job{URL: uri.MustParse("http://h.example/f")}); fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Error(err)
	}
}

// FuzzFindSum checks that findSum returns only valid checksums, for any file.
func FuzzFindSum(f *testing.F) {
	f.Add([]byte("781e5e245d69b566979b86e28d23f2c7  f\nMD5 (f) = 0\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		if sum, ok := findSum(lines, "f"); ok != (sum != "") {
			t.Errorf("%q, %v", sum, ok)
		}
	})
}
