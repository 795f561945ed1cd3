package fetch

import (
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// The number of recorded hosts is bounded. Evicted hosts, and hosts ever found at a public address,
// are not private.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	c := New(nil)
	at := func(i int) string { return fmt.Sprintf("h%d.example:80", i) }
	private := func(i int) bool { return c.isPrivate(uri.MustParse("http://"+at(i)), 80) }
	for i := range maxPlaces + 10 {
		c.recordPlace(at(i), placePrivate)
	}
	if private(0) || !private(10) || !private(maxPlaces+9) {
		t.Error("the wrong hosts are remembered")
	}
	c.recordPlace(at(10), placePublic)
	c.recordPlace(at(10), placePrivate)
	if private(10) {
		t.Error("a host at a public address became private")
	}
	if c.isPrivate(uri.MustParse("http://h11.example:8080/"), 80) {
		t.Error("another port of a private host is private")
	}
}

func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	a := New(nil)
	b, c := New(&Options{Places: a}), New(nil)
	a.recordPlace("a.example:80", placePrivate)
	b.recordPlace("b.example:80", placePrivate)
	for _, tt := range []struct {
		client *Client
		want   bool
	}{{a, true}, {b, true}, {c, false}} {
		for _, name := range []string{"http://a.example/", "http://b.example/"} {
			if got := tt.client.isPrivate(uri.MustParse(name), 80); got != tt.want {
				t.Errorf("%s is private: %v, want %v", name, got, tt.want)
			}
		}
	}
	b.recordPlace("a.example:80", placePublic)
	if a.isPrivate(uri.MustParse("http://a.example/"), 80) {
		t.Error("a host at a public address is private to the other client")
	}
}
