package mirror_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

// TestGopherNames mirrors servers whose menus mark items for Gopher+, begin selectors with the type,
// and link to the root menu in both ways. Files have the names of the server, and the links of
// converted menus lead to them.
func TestGopherNames(t *testing.T) {
	t.Parallel()
	back := map[string][]string{"/": {"1top\t\t$HOST\t$PORT"}, "/d": {"1top\t/\t$HOST\t$PORT", "1top\t\t$HOST\t$PORT"}}
	for name, manner := range map[string]gopherd.Manner{"plus": gopherd.Exact, "UMN 2": gopherd.UMN2, "UMN 3": gopherd.UMN3} {
		for _, seed := range []string{"/", "/1/"} {
			s := gopherd.Start(t, gopherd.Options{Plus: true, Manner: manner, Items: back,
				Tree: fstest.MapFS{"a.txt": {Data: []byte("a\n")}, "d/b.bin": {Data: []byte("b")}, "d/.c": {Data: []byte("c")}}})
			opts := noHost()
			opts.Convert, opts.Newer = true, false
			dir := t.TempDir()
			events, r := run(t, dir, s.URL+seed, opts)
			var paths []string
			for name, text := range files(t, dir) {
				paths = append(paths, name)
				if strings.HasSuffix(name, "gophermap") && strings.Contains(text, s.Addr[strings.LastIndexByte(s.Addr, ':')+1:]) {
					t.Errorf("%s, %s: %s leads to the server: %q", name, seed, name, text)
				}
			}
			slices.Sort(paths)
			if want := []string{"a.txt", "d/.c", "d/b.bin", "d/gophermap", "gophermap"}; !slices.Equal(paths, want) || r.Failed > 0 {
				t.Errorf("%s, %s: files %q, want %q: %q", name, seed, paths, want, events)
			}
		}
	}
}
