package replay_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
)

// Some recorders write revisits with a digest alone, also of content with another URL.
func TestRevisitsByDigest(t *testing.T) {
	t.Parallel()
	const (
		profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
		sum     = "WARC-Payload-Digest: sha1:HYV7L6VCYP7MD6CANCQHHN7FDV5NISRV\r\n" // of "pear"
	)
	revisit := func(url string, more ...string) string {
		return record("revisit", url, "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", more...)
	}
	records := []string{
		revisit("http://h.example/before", id("0"), profile, sum),
		response("http://h.example/a", ok("pear"), id("1"), sum),
		revisit("http://h.example/after", id("2"), profile, sum),
		revisit("http://h.example/gone", id("3"), profile, sum, "WARC-Refers-To: <urn:elsewhere>\r\n"),
		revisit("http://h.example/304", id("4"), "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n", sum),
		revisit("http://h.example/other", id("5"), profile, "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"),
	}
	for name, c := range map[string]*fetch.Client{
		"scanned": client(t, replay.Options{Only: true}, records...),
		"indexed": indexedClient(t, records...),
	} {
		for url, want := range map[string]string{
			"http://h.example/before": "pear", "http://h.example/after": "pear", "http://h.example/gone": "pear",
			"http://h.example/304": "", "http://h.example/other": "",
		} {
			body, err := drive.Get(t, c, url)
			if body != want || (err != nil) != (want == "") || err != nil && fetch.CodeOf(err) != fetch.ErrProtocol {
				t.Errorf("%s: %s: %q, %v, want %q", name, url, body, err, want)
			}
		}
	}
}

func indexedClient(t *testing.T, records ...string) *fetch.Client {
	t.Helper()
	a, err := replay.Open(writeIndexed(t, unchanged, records...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if list, err := os.ReadDir(filepath.Dir(a.Files()[0])); err != nil || len(list) < 2 {
		t.Fatalf("%v: no index of %s, %v", list, warc.IndexName(a.Files()[0]), err)
	}
	return replayClient(a)
}
