package gopher_test

import (
	"crypto/tls"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols/gopher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	secure, trusting := servers.Certificate()
	for _, tt := range []struct {
		name, scheme, plus string
		tls                *tls.Config
	}{
		{"plain", "gopher", "", nil},
		{"plus", "gopher", "+", nil},
		{"secure", "gophers", "", secure},
		{"secure plus", "gophers", "+", secure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			skip := map[string]string{"Noise": "any bytes are a document"}
			if tt.plus != "" {
				skip["FileSystem"] = "only Stat returns the modification time"
			}
			fetchtest.Run(t, fetchtest.Harness{
				Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
					s := gopherd.Start(t, gopherd.Options{Tree: tree, TLS: tt.tls, Plus: tt.plus != ""})
					return fetchtest.Site{
						Load:  gopher.Load,
						URL:   func(name string) string { return itemURL(tt.scheme, s.Addr, tt.plus, tree, name) },
						Log:   s.Log,
						Fault: s.Fail,
						Can:   s.Can,
					}
				},
				Skip:    skip,
				Options: &fetch.Options{TLS: trusting},
			})
		})
	}
}

// itemURL returns the URL of a file or directory on a server of package gopherd.
func itemURL(scheme, addr, plus string, tree fs.FS, name string) string {
	g := uri.Gopher{Type: '9', Selector: "/" + name, Plus: plus}
	info, err := fs.Stat(tree, name)
	if name == "." {
		g.Selector = ""
	}
	if err == nil && info.IsDir() || err != nil && !strings.Contains(name, ".") {
		g.Type = '1'
	}
	host := uri.MustParse(scheme + "://" + addr + "/")
	g.Scheme, g.Host, g.Port = scheme, host.Host(), host.Port(70)
	return uri.Must(g.URI()).String()
}
