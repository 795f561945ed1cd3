package warc_test

import (
	"testing"

	"github.com/urlget/urlget/archive/warc"
)

func TestNearKey(t *testing.T) {
	t.Parallel()
	const want = "example,h)/d/x?a=1&b=2"
	for _, url := range []string{"http://h.example/d/x?a=1&b=2", "https://h.example/d/x?a=1&b=2", "https://www.h.example:443/D/x/?b=2&a=1#f", "http://h.example/d/x?_=1700000000000&b=2&a=1&cb=0.52"} {
		if got := warc.NearKey(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"http://h/?_=12":         "h)/",
		"http://h/?_=ab":         "h)/?_=ab",
		"http://h/?q=1":          "h)/?q=1",
		"http://h:8080/":         "h:8080)/",
		"gopher://h/1":           "",
		"urn:view:http://h.test": "",
	} {
		if got := warc.NearKey(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
