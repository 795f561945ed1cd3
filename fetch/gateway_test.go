package fetch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestGateways(t *testing.T) {
	t.Parallel()
	gateways := map[string]string{
		"wais":      "http://gw.example/wais/",
		"x-q":       "http://gw.example/?u={}&x=1",
		"x-mid":     "http://gw.example/get/{}/raw",
		"urn":       "http://urn.example/",
		"urn:ietf":  "http://ietf.example/{}",
		"http":      "http://http.example/via/",
		"x-file":    "file:///srv/{}",
		"x-bad":     "http://bad host/",
		"x-risky":   "http://gw.example:25/",
		"x-unknown": "foo://gw.example/",
	}
	tests := []struct {
		url, want string
		code      fetch.Code
	}{
		{"wais://h:210/db?words", "http://gw.example/wais/h:210/db?words", ""},
		{"WAIS://h/db#frag", "http://gw.example/wais/h/db", ""},
		{"wais://user:secret@h/db", "http://gw.example/wais/h/db", ""},
		{"x-q://h/a?b&c=d e", "", fetch.ErrURL},
		{"x-q://h/a?b&c=%20", "http://gw.example/?u=h%2Fa%3Fb%26c%3D%2520&x=1", ""},
		{"x-mid:abc", "http://gw.example/get/abc/raw", ""},
		{"urn:isbn:1", "http://urn.example/isbn:1", ""},
		{"urn:ietf:rfc:1738", "http://ietf.example/rfc:1738", ""},
		{"URN:IETF:rfc:1738", "http://ietf.example/rfc:1738", ""},
		{"http://h/x", "http://http.example/via/h/x", ""},
		{"http://http.example/via/h/x", "http://http.example/via/h/x", ""}, // the gateway's own URL
		{"x-file:motd", "file:///srv/motd", ""},
		{"x-bad:x", "", fetch.ErrURL},
		{"x-risky:x", "", fetch.ErrPolicy},
		{"x-unknown:x", "", fetch.ErrScheme},
	}
	for _, tt := range tests {
		web := &fakeWeb{pages: map[string]string{tt.want: "text"}}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Gateways: gateways}, web.load)
		resp, err := c.Get(t.Context(), tt.url)
		if fetch.CodeOf(err) != tt.code || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: error %v, want class %q; asked for %q", tt.url, err, tt.code, web.urls())
		}
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.URL.String() != tt.want {
			t.Errorf("%s: came from %s, want %s", tt.url, resp.URL, tt.want)
		}
		if tt.url != tt.want && (len(resp.Via) != 1 || resp.Via[0].String() != tt.url) {
			t.Errorf("%s: Via is %v", tt.url, resp.Via)
		}
	}
}

// A redirect from a gateway to its own URLs does not go through the gateway again.
func TestGatewaysDoNotLoop(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{pages: map[string]string{
		"http://gw/via/h/x": "-> /via/h/y",
		"http://gw/via/h/y": "-> http://h/z",
		"http://gw/via/h/z": "end",
	}}
	c := fetch.New(&fetch.Options{Proxy: noProxy, Gateways: map[string]string{"http": "http://gw/via/"}}, web.load)
	if got, err := text(t, c, "http://h/x"); got != "end" || err != nil {
		t.Errorf("%q, %v; asked for %q", got, err, web.urls())
	}
}
