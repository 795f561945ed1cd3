package ipfs

import (
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load registers the driver with a gateway, and the driver of the gateway's URL.
func load(gateway string) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		http.Load(env, reg)
		With(Options{Gateway: gateway})(env, reg)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, sharded := range []bool{false, true} {
		t.Run(map[bool]string{false: "directories", true: "HAMT directories"}[sharded], func(t *testing.T) {
			t.Parallel()
			const own = "each block is an exchange of its own"
			skip := map[string]string{
				"Scope":    "requests to the gateway have no resources of the user",
				"Recorded": own, "RecordedEnds": own,
			}
			fetchtest.Run(t, fetchtest.Harness{Skip: skip, Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := startServer(t)
				s.root = s.addTree(t, tree, ".", sharded).id
				return fetchtest.Site{
					Load: load(s.url),
					URL: func(name string) string {
						url := s.urlOf("")
						if name != "." {
							for segment := range strings.SplitSeq(name, "/") {
								url += "/" + uri.Escape(segment)
							}
						}
						if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
							url += "/"
						}
						return url
					},
					Log:     s.Log,
					Fault:   s.Fail,
					Escaped: true, // names are not sent
				}
			}})
		})
	}
}
