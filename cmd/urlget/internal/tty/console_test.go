package tty

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestSizeWord(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", 5 << 50: "5120.0 TiB"} {
		if got := SizeWord(n); got != want {
			t.Errorf("%v: %q", n, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	con := &Console{w: &out}
	log := slog.New(warnings{con: con})
	log.Info("nothing")
	log.Warn("a part is missing", "part", "p\x1b[2J", "error", errors.New("gone"))
	con.Silent = true
	log.Warn("not wanted")
	if want := "urlget: a part is missing (part p\\x1b[2J): gone\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", ""},
		{"short\n", "short\n"},
		{"exactly ten\n", "exactly\n  ten\n"},
		{"ten columns", "ten\n  columns"},
		{"http://a.very.long.host/ is kept whole\n", "http://a.very.long.host/\n  is kept\n  whole\n"},
		{"\x1b[31mred\x1b[0m is free\n", "\x1b[31mred\x1b[0m is\n  free\n"},
		{"文字 文字 x\n", "文字 文字\n  x\n"},
		{"one\ntwo three four\n", "one\ntwo three\n  four\n"},
		{"  failed: x\n", "  failed:\n  x\n"},
	}
	for _, tt := range tests {
		if got := wrap(tt.text, 10); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}
