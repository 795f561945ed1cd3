package replay_test

import (
	"errors"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

func TestNearURLs(t *testing.T) {
	t.Parallel()
	records := []string{
		response("https://www.h.example/a", ok("secure"), id("1")),
		response("http://h.example/d/", ok("slash"), id("2")),
		response("http://h.example/q?b=2&a=1", ok("order"), id("3")),
		response("http://h.example/j.js?_=1700000000000", ok("script"), id("4")),
		response("http://h.example/both", ok("plain"), id("5")),
		response("https://h.example/both", ok("other"), id("6")),
	}
	strict := client(t, replay.Options{Only: true}, records...)
	lenient := client(t, replay.Options{Only: true, Near: true}, records...)
	for target, want := range map[string]struct{ near, body, final string }{
		"http://h.example/a":                    {"https://www.h.example/a", "secure", ""},
		"http://h.example/d":                    {"http://h.example/d/", "slash", "http://h.example/d/"},
		"http://h.example/q?a=1&b=2":            {"http://h.example/q?b=2&a=1", "order", ""},
		"http://h.example/j.js?_=1800000000000": {"http://h.example/j.js?_=1700000000000", "script", ""},
		"https://h.example/j.js":                {"http://h.example/j.js?_=1700000000000", "script", ""},
		"http://h.example/both":                 {"", "plain", ""},
		"https://h.example/both":                {"", "other", ""},
		"http://h.example/q?a=1&b=3":            {},
		"gopher://h.example/0a":                 {},
	} {
		_, err := drive.Get(t, strict, target)
		var near *replay.NearError
		switch {
		case want.body != "" && want.near == "":
			if err != nil {
				t.Errorf("%s: %v", target, err)
			}
		case errors.As(err, &near) != (want.near != "") || near != nil && near.URL != want.near:
			t.Errorf("%s: %v, want a capture of %q", target, err, want.near)
		case !errors.Is(err, replay.ErrNoCapture) || fetch.CodeOf(err) != fetch.ErrNotFound:
			t.Errorf("%s: %v, want ErrNoCapture", target, err)
		}
		body, resp, err := drive.Do(t, lenient, &fetch.Request{URL: uri.MustParse(target)})
		if want.body == "" {
			if !errors.Is(err, replay.ErrNoCapture) {
				t.Errorf("%s: %v, want ErrNoCapture", target, err)
			}
			continue
		}
		final := target
		if want.final != "" {
			final = want.final
		}
		if err != nil || body != want.body || resp.URL.String() != final || resp.Capture == nil {
			t.Errorf("%s: %q of %v, %v, want %q of %s", target, body, resp, err, want.body, final)
		}
	}
}
