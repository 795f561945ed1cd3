package uri

import (
	"strings"
	"testing"
)

func TestNearestScheme(t *testing.T) {
	t.Parallel()
	known := []string{"dict", "file", "ftp", "ftps", "gopher", "http", "https", "im", "news", "nntp", "prospero", "tel", "telnet"}
	for _, c := range []struct{ name, want string }{
		{"htp", "http"},
		{"htttp", "http"},
		{"ttp", "http"},
		{"htpt", "http"},
		{"HTPP", "http"},
		{"hhtp", "http"},
		{"htps", "https"},
		{"htttps", "https"},
		{"ftpp", "ftp"},
		{"fpt", "ftp"},
		{"gohper", "gopher"},
		{"propsreo", "prospero"},
		{"telent", "telnet"},
		{"http", ""},
		{"x", ""},
		{"", ""},
		{"localhost", ""},
		{"gemini", ""},
		{"x-thing", ""},
		{strings.Repeat("http", 1000), ""},
	} {
		if got := NearestScheme(c.name, known); got != c.want {
			t.Errorf("%.20q: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := NearestScheme("htp", nil); got != "" {
		t.Errorf("of none: got %q", got)
	}
}
