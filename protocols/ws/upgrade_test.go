package ws

import (
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// TestUpgrades checks which URLs become wss URLs if their host wants https only.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	d := &opener{opts: Options{HTTPSOnly: func(host string) bool { return host == "strict.example" }}}
	for raw, want := range map[string]string{
		"ws://strict.example/a?b":         "wss://strict.example/a?b",
		"ws://strict.example:80/":         "wss://strict.example/",
		"ws://me:x@strict.example:8080/a": "wss://me:x@strict.example:8080/a",
		"ws://other.example/":             "",
		"wss://strict.example/":           "",
	} {
		got, ok := d.Upgrade(uri.MustParse(raw))
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %s, %t", raw, got, ok)
		}
	}
	if _, ok := new(opener).Upgrade(uri.MustParse("ws://strict.example/")); ok {
		t.Error("upgraded without the option")
	}
}
