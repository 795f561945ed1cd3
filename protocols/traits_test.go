package protocols_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
)

// Redirects, the files of a mirror, and what crawls and archives make of a URL depend on the traits.
func TestTraits(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	t.Cleanup(func() { c.Close() })
	for name, tt := range map[string]struct {
		has     func(fetch.Traits) bool
		schemes string
	}{
		"RedirectTarget":       {func(t fetch.Traits) bool { return t.RedirectTarget }, "ftp ftps http https"},
		"Tree":                 {func(t fetch.Traits) bool { return t.Tree }, "afs file ftp ftps gemini http https nex nfs scp sftp spartan"},
		"Pages":                {func(t fetch.Traits) bool { return t.Pages }, "gemini http https nex spartan"},
		"HTML":                 {func(t fetch.Traits) bool { return t.HTML }, "http https"},
		"Menus":                {func(t fetch.Traits) bool { return t.Menus }, "gopher gophers"},
		"HasLinks":             {fetch.Traits.HasLinks, "gemini gopher gophers http https nex spartan"},
		"Robots /robots.txt":   {func(t fetch.Traits) bool { return t.Robots == "/robots.txt" }, "gemini http https"},
		"Robots /0/robots.txt": {func(t fetch.Traits) bool { return t.Robots == "/0/robots.txt" }, "gopher gophers"},
		"Screens":              {func(t fetch.Traits) bool { return t.Screens }, "tn3270"},
		"Logins":               {func(t fetch.Traits) bool { return t.Logins }, "scp sftp"},
	} {
		var got []string
		for _, s := range c.Schemes() {
			if tt.has(s.Traits) {
				got = append(got, s.Name)
			}
		}
		if want := strings.Fields(tt.schemes); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
