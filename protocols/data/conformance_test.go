package data_test

import (
	"encoding/base64"
	"io/fs"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/protocols/data"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		return fetchtest.Site{
			Load: data.Load,
			URL: func(name string) string {
				content, err := fs.ReadFile(tree, name)
				if err != nil {
					return "" // a missing file has no URL
				}
				u := "data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(content)
				if len(u) > 1<<20 { // longer URLs only take time
					return ""
				}
				return u
			},
			Escaped: true, // the encoded text is data
		}
	}})
}
