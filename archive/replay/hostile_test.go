package replay_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// zeros is an endless reader of one byte value.
type zeros byte

func (z zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(z)
	}
	return len(p), nil
}

// bomb returns a compressed record that consists of before and n times the byte of.
func bomb(t *testing.T, before string, n int64, of byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(z, before)
	if _, err := io.CopyN(z, zeros(of), n); err != nil {
		t.Fatal(err)
	}
	io.WriteString(z, "\r\n\r\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Decompressed data of a small file is not held in memory.
func TestDecompressionBombs(t *testing.T) { // not parallel: it measures allocations
	const size = 16 << 20
	head := func(kind, target, contentType, rest string) string {
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nContent-Type: %s\r\n%s\r\n", kind, target, contentType, rest)
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", size)
	const web = "application/http;msgtype=response"
	file := bytes.Join([][]byte{
		bomb(t, head("resource", "ftp://h.example/content", "text/plain", length), size, 0),
		bomb(t, head("response", "http://h.example/head", web, length), size, 'x'),
		bomb(t, head("request", "http://h.example/asked", "application/http;msgtype=request", length), size, 'x'),
		bomb(t, head("metadata", "ftp://h.example/exchange", "application/x-urlget-exchange+json", length), size, ' '),
		bomb(t, "WARC/1.1\r\nWARC-Type: ", size, 'x'),
		bomb(t, "", size, '\n'),
		bomb(t, "", size, 0),
		bomb(t, head("resource", "ftp://h.example/last", "text/plain", "Content-Length: 0\r\n"), 0, 0),
	}, nil)
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := clientOf(t, replay.Options{}, path)
	resp, err := c.Get(t.Context(), "ftp://h.example/content")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	resp.Body.Close()
	for rawURL, want := range map[string]string{"http://h.example/head": "! protocol", "ftp://h.example/exchange": "! not_found", "ftp://h.example/last": ""} {
		if got := get(c, getRequest(rawURL)); got != want {
			t.Errorf("%s: %q", rawURL, got)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size {
		t.Errorf("%d bytes allocated for a file of %d bytes", used, len(file))
	}
}

// FuzzReplay requests every URL of an arbitrary archive. The client makes no connection, and every
// response ends.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(strings.Join(sample(), "")))
	f.Add([]byte(response("http://h.example/", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n")))
	f.Add([]byte(record("metadata", "gopher://h.example/1", "application/x-urlget-exchange+json",
		`{"url":"gopher://h.example/1","op":"dial","content":"urn:c","answer":{"kind":"session","size":-1}}`) +
		record("resource", "gopher://h.example/1", "text/plain", "login: ", id("c"))))
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "a.warc")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := replay.Open(path)
		if err != nil {
			return
		}
		defer a.Close()
		c := fetch.New(&fetch.Options{
			Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})},
			Proxy:      func(uri.URI) (uri.URI, error) { return uri.URI{}, nil },
			DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
				t.Errorf("connection to %s", addr)
				return nil, errors.New("no network in this test")
			},
		}, drivers)
		defer c.Close()
		list, _, err := a.URLs(func(string) bool { return true }, 100)
		if err != nil {
			t.Error(err)
		}
		for _, text := range list {
			u, err := uri.Parse(text)
			if err != nil {
				continue
			}
			for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList, fetch.OpDial} {
				resp, err := c.Do(t.Context(), &fetch.Request{URL: u, Op: op})
				if err != nil {
					continue
				}
				if resp.Entries != nil {
					for range resp.Entries { // read all entries
					}
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	})
}
