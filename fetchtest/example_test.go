package fetchtest_test

import (
	"io"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// The conformance test of the FTP driver.
func ExampleRun() {
	testConformance := func(t *testing.T) {
		fetchtest.Run(t, fetchtest.Harness{
			Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				s := ftpd.Start(t, ftpd.Options{Tree: tree})
				return fetchtest.Site{
					Load: ftp.Load,
					URL: func(name string) string {
						if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
							name += "/"
						}
						return s.URL + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
					},
					Log:   s.Log,
					Fault: s.Fail,
					Can:   s.Can,
				}
			},
		})
	}
	_ = testConformance // in a test file it would be TestConformance
}

// A test in which each operation of the network fails in turn.
func ExampleRunFailures() {
	testFailures := func(t *testing.T) {
		s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"motd": {Data: []byte("Welcome.\n")}}})
		fetchtest.RunFailures(t, fetchtest.Failures{Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
			c := fetch.New(o, ftp.Load)
			defer c.Close()
			resp, err := c.Get(t.Context(), s.URL+"/motd")
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			return io.ReadAll(resp.Body)
		}})
	}
	_ = testFailures
}

// The test of a middleware.
func ExampleRunMiddleware() {
	testMiddleware := func(t *testing.T) {
		fetchtest.RunMiddleware(t, func() fetch.Middleware { return middleware.PerHost(1) })
	}
	_ = testMiddleware
}
