package replay_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
)

// A member that is damaged anywhere gives its content or an error, whether or not the record has a
// digest.
func TestDamagedMembers(t *testing.T) {
	t.Parallel()
	const web, ftp, other, target = "http://h.example/a", "ftp://h.example/a", "http://h.example/b", "http://h.example/c"
	random := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, 300)
	for i := range letters {
		letters[i] = "abcdefghij0123456789"[random.IntN(20)]
	}
	text := string(letters)
	var coded bytes.Buffer
	z := gzip.NewWriter(&coded)
	io.WriteString(z, text)
	z.Close()
	chunks := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(s), s) }
	const chunked, gzipCoding = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n"
	payload := func(s string) string { return strings.Replace(blockDigest(s), "Block", "Payload", 1) }
	last := response(other, ok("other"), id("9")) + response(target, ok("target"), id("8"))
	for name, tt := range map[string]struct {
		url, want string
		rng       fetch.Range
		member    string
		before    string // undamaged
	}{
		"length":              {url: web, want: text, member: response(web, ok(text))},
		"length, digest":      {url: web, want: text, member: response(web, ok(text), blockDigest(ok(text)))},
		"length, payload":     {url: web, want: text, member: response(web, ok(text), payload(text))},
		"by close":            {url: web, want: text, member: response(web, "HTTP/1.0 200 OK\r\n\r\n"+text)},
		"chunks":              {url: web, want: text, member: response(web, chunked+"\r\n"+chunks(text))},
		"chunks, payload":     {url: web, want: text, member: response(web, chunked+"\r\n"+chunks(text), payload(text))},
		"coding":              {url: web, want: text, member: response(web, ok(coded.String(), gzipCoding))},
		"chunks and coding":   {url: web, want: text, member: response(web, chunked+gzipCoding+"\r\n"+chunks(coded.String()))},
		"range":               {url: web, want: text[10:20], rng: fetch.Range{Offset: 10, Length: 10}, member: response(web, ok(text))},
		"end of the content":  {url: web, want: text[10:], rng: fetch.Range{Offset: 10}, member: response(web, ok(text))},
		"resource":            {url: ftp, want: text, member: record("resource", ftp, "text/plain", text)},
		"resource, payload":   {url: ftp, want: text, member: record("resource", ftp, "text/plain", text, payload(text))},
		"range of a resource": {url: ftp, want: text[10:20], rng: fetch.Range{Offset: 10, Length: 10}, member: record("resource", ftp, "text/plain", text)},
		"redirect":            {url: web, want: "target", member: response(web, "HTTP/1.1 302 Found\r\nLocation: /c\r\nContent-Length: 0\r\n\r\n")},
		"revisit": {url: web, want: text, before: response("http://h.example/d", ok(text), id("1")),
			member: record("revisit", web, "application/http; msgtype=response", strings.TrimSuffix(ok(text), text), "WARC-Refers-To: <urn:1>\r\n")},
		"revisit without a head": {url: web, want: text, before: response("http://h.example/d", ok(text), id("1")),
			member: record("revisit", web, "application/http; msgtype=response", "", "WARC-Refers-To: <urn:1>\r\n")},
		"two records": {url: web, want: text, member: response(web, ok(text)) + record("resource", ftp, "text/plain", text)},
	} {
		for coding, pack := range map[string]func(*testing.T, ...string) []byte{"gzip": zipped, "zstd": zstandardFrames} {
			t.Run(name+", "+coding, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				first, member := []byte(nil), pack(t, tt.member)
				if tt.before != "" {
					first = pack(t, tt.before)
				}
				rest := pack(t, last)
				damage := func(change func(member []byte)) string {
					file := bytes.Clone(member)
					change(file)
					path := filepath.Join(dir, "a.warc.gz")
					if err := os.WriteFile(path, bytes.Join([][]byte{first, file, rest}, nil), 0o600); err != nil {
						t.Fatal(err)
					}
					a, err := replay.Open(path)
					if err != nil {
						return "! " + err.Error()
					}
					a.Close()
					req := getRequest(tt.url)
					req.Range = tt.rng
					return get(clientOf(t, replay.Options{}, path), req)
				}
				if got := damage(func([]byte) {}); got != tt.want {
					t.Fatalf("without damage: %q", got)
				}
				step := 1
				if !fetchtest.IsLong() {
					step = 61
				}
				wrong := 0
				for at := 0; at < len(member); at += step {
					for _, change := range []func([]byte){
						func(b []byte) { b[at] ^= 1 << (at % 8) },
						func(b []byte) { clear(b[at:min(at+20, len(b))]) },
						func(b []byte) { clear(b[at:min(at+200, len(b))]) },
					} {
						got := damage(change)
						if got != tt.want && !strings.Contains(got, "! ") {
							if wrong++; wrong < 4 {
								t.Errorf("byte %d of %d: %q without an error", at, len(member), got)
							}
						}
					}
				}
				if wrong > 0 {
					t.Errorf("%d wrong contents without an error", wrong)
				}
			})
		}
	}
}

// zstandard is shared, because a compressor takes megabytes.
var zstandard = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return z
})

// zstandardFrames returns each text as a zstd frame with a checksum.
func zstandardFrames(_ *testing.T, parts ...string) (file []byte) {
	for _, p := range parts {
		file = zstandard().EncodeAll([]byte(p), file)
	}
	return file
}
