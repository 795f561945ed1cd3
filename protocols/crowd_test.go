package protocols_test

import (
	"bytes"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
)

// TestConcurrentRequests requests the same resource from every server 8 times at once, or 64 times if
// URLGET_LONG is set, with one client.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	crowd := 8
	if fetchtest.IsLong() {
		crowd = 64
	}
	all, client := sites(t)
	file := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	all["tftp"] = site{url: tftpd.Start(t, tftpd.Options{Tree: fstest.MapFS{"file": {Data: file}}}).URL + "/file"}
	for name, tt := range all {
		if tt.session {
			continue
		}
		t.Run(name, func(t *testing.T) {
			u := uri.MustParse(tt.url)
			c := client(u.Scheme(), &fetch.Options{})
			defer c.Close()
			get := func() ([]byte, error) { return retrieve(t, c, &fetch.Request{URL: u, Op: tt.op}, false) }
			want, wantErr := get()
			var wg sync.WaitGroup
			for range crowd {
				wg.Go(func() {
					if got, err := get(); !bytes.Equal(got, want) || fetch.CodeOf(err) != fetch.CodeOf(wantErr) {
						t.Errorf("%d bytes, %v; alone it was %d, %v", len(got), err, len(want), wantErr)
					}
				})
			}
			wg.Wait()
			if wantErr != nil && name != "gemini, missing" && name != "spartan, missing" {
				t.Errorf("alone: %v", wantErr)
			}
		})
	}
}
