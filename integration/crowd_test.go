//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
)

// TestConcurrentRequests makes 64 identical requests at once to each real server with one client.
// The client retries if the server is busy, as usual.
func TestConcurrentRequests(t *testing.T) {
	const crowd, file = 64, "65537.bin"
	// These servers have a short queue of unaccepted connections. The kernel drops further ones,
	// which the client's kernel retries with growing delays: all 64 succeed within a minute.
	slowServers := []string{"gopher, Gopher+", "dict"}
	tftp := func(s *lab.Server) string { return "tftp://" + s.Addr("plain") + "/" + file }
	rows := append(slices.Clone(reliabilityRows), row{name: "tftp, tftpd-hpa", server: "tftpd-hpa", file: file, url: tftp},
		row{name: "tftp, atftpd", server: "atftpd", file: file, url: tftp})
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.name, ", ", "-"), func(t *testing.T) {
			if slices.Contains(slowServers, row.name) {
				t.Skip("takes a minute")
			}
			s := lab.Start(t, row.server)
			config := row.config
			if row.configFor != nil {
				config = row.configFor(t, s)
			}
			c := fetch.New(labOptions(), protocols.With(config))
			defer c.Close()
			dir, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			d := download.Downloader{Client: c, Root: dir}
			defer d.Flush()
			url := strings.ReplaceAll(row.url(s), "large.bin", file)
			get := func(name string) ([]byte, error) {
				if _, err := d.Get(t.Context(), url, name, &download.Options{Retry: retry.Policy{Wait: 50 * time.Millisecond}}); err != nil {
					return nil, err
				}
				return dir.ReadFile(name)
			}
			want, err := get("alone")
			if err != nil {
				t.Fatal(err)
			}
			if row.file != "" && strings.Contains(url, file) && !bytes.Equal(want, fixture(t, s, file)) {
				t.Fatalf("%d bytes differ from the file", len(want))
			}
			var wg sync.WaitGroup
			for i := range crowd {
				wg.Go(func() {
					if got, err := get(fmt.Sprint("file", i)); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
					}
				})
			}
			wg.Wait()
		})
	}
}
