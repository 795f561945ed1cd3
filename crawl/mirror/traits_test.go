package mirror_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
)

// The traits that a driver declares determine how a mirror reads and names its resources. No other
// code needs to know the scheme.
func TestDriverTraitsControlMirror(t *testing.T) {
	t.Parallel()
	site := nexd.Start(t, nexd.Options{Tree: fstest.MapFS{"a.txt": {Data: []byte("a")}, "d/b.txt": {Data: []byte("b")}, "d/c/e.txt": {Data: []byte("e")}}})
	change := func(f func(reg *fetch.Registry, nex fetch.Scheme)) fetch.Loader {
		return func(_ fetch.Env, reg *fetch.Registry) {
			nex, ok := reg.Lookup("nex")
			if !ok {
				t.Error("no driver for nex")
			}
			f(reg, nex)
		}
	}
	for name, tt := range map[string]struct {
		scheme string
		load   fetch.Loader
		want   []string // nil if the scheme is unknown
	}{
		"as declared": {"nex", func(fetch.Env, *fetch.Registry) {}, []string{"d/b.txt", "d/c/e.txt", "d/index.html"}},
		"removed":     {"nex", change(func(reg *fetch.Registry, _ fetch.Scheme) { reg.Remove("nex") }), nil},
		"no pages": {"nex", change(func(reg *fetch.Registry, nex fetch.Scheme) {
			nex.Traits = fetch.Traits{Tree: true}
			reg.Replace(nex)
		}), []string{"d/b.txt", "d/c/e.txt"}},
		"renamed scheme": {"x-small", change(func(reg *fetch.Registry, nex fetch.Scheme) {
			reg.Remove("nex")
			nex.Name = "x-small"
			reg.Register(nex)
		}), []string{"d/b.txt", "d/c/e.txt", "d/index.html"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			c := fetch.New(nil, drivers, tt.load)
			defer c.Close()
			opts := noHost()
			var failed []error
			opts.Ended = func(e mirror.Event) {
				if e.Err != nil {
					failed = append(failed, e.Err)
				}
			}
			seed := uri.MustParse(strings.Replace(site.URL+"/d/", "nex:", tt.scheme+":", 1))
			_, err = mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{seed}, &opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(files(t, dir))); !slices.Equal(got, tt.want) {
				t.Errorf("saved %q, want %q", got, tt.want)
			}
			if unknown := len(failed) == 1 && fetch.CodeOf(failed[0]) == fetch.ErrScheme; unknown != (tt.want == nil) || !unknown && failed != nil {
				t.Errorf("visit errors: %v", failed)
			}
		})
	}
}
