package file

import (
	"regexp"
	"testing"
)

var refusal = regexp.MustCompile("names no drive|no file has such a name|leads to a device")

func TestSystemPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in       string
		confined bool
		want     string // "" means refused
	}{
		{"/C:/x/y.txt", false, `C:\x\y.txt`},
		{"/C|/x", false, `C:\x`},
		{"/c:", false, `c:\.`},
		{"/x", false, ""},
		{"/C:/NUL", false, ""},
		{"/C:/a:stream", false, ""},
		{`/C:/a\b`, false, ""},
		{"/C:/../x", false, ""},
		{"/a/b", true, `a\b`},
		{"/../b", true, ""},
		{"/C:/x", true, ""},
	}
	for _, tt := range tests {
		got, err := systemPath(tt.in, tt.confined)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !refusal.MatchString(err.Error()) {
			t.Errorf("systemPath(%q, %v) = %q, %v; want %q", tt.in, tt.confined, got, err, tt.want)
		}
	}
}
