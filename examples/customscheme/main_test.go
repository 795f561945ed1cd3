package main

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchtest"
	"github.com/urlget/urlget/fetch/uri"
)

func TestEcho(t *testing.T) {
	tests := []struct {
		url, want string
		code      fetch.Code
	}{
		{"x-echo:hello%20there", "hello there", ""},
		{"x-echo:ha?times=3", "hahaha", ""},
		{"x-echo:", "", ""},
		{"x-echo:ha?times=1001", "", fetch.ErrURL},
		{"x-echo:ha?often", "", fetch.ErrURL},
		{"x-echo:a%0Ab", "a\nb", ""},
		{"data:,built%20in", "built in", ""},
	}
	for _, tt := range tests {
		var got strings.Builder
		if err := get(t.Context(), &got, tt.url); got.String() != tt.want || fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, %v; want %q and class %q", tt.url, got.String(), err, tt.want, tt.code)
		}
	}
}

// The conformance suite tells whether a driver is right. Its files are held by
// the URLs here; there are no directories, and nothing that could be missing.
func TestConformance(t *testing.T) {
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			return fetchtest.Site{Load: load, URL: func(name string) string {
				content, err := fs.ReadFile(tree, name)
				if err != nil {
					return ""
				}
				return "x-echo:" + uri.Escape(string(content))
			}}
		},
		Skip: map[string]string{"Injection": "the text of the URL is sent to nobody"},
	})
}
