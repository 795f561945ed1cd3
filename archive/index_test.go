package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
)

// The index of a merged archive contains all its records, and its coverage lines cover all files.
func TestIndexOfMergedArchive(t *testing.T) {
	t.Parallel()
	const web, webRequest = "application/http;msgtype=response", "application/http;msgtype=request"
	plain := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\npear"
	posted := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\napple"
	source := record("1", "response", "2020-01-01T00:00:00Z", "http://h/1", web, plain) +
		record("2", "request", "2020-01-01T00:00:00Z", "http://h/1", webRequest+"\r\nWARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000001>", "GET /1 HTTP/1.1\r\n\r\n") +
		record("3", "response", "2020-01-02T00:00:00Z", "http://h/2", web, plain) +
		record("4", "request", "2020-01-03T00:00:00Z", "http://h/3", webRequest+"\r\nWARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000005>", "POST /3 HTTP/1.1\r\n\r\n") +
		record("5", "response", "2020-01-03T00:00:00Z", "http://h/3", web, posted) +
		record("6", "resource", "2020-01-04T00:00:00Z", "\x00ftp://h/4", "text/plain", "plum")
	for _, size := range []int64{0, 900} {
		dir := t.TempDir()
		w, err := warc.Create(filepath.Join(dir, "out"), warc.WriterOptions{Index: true, MaxSize: size})
		if err != nil {
			t.Fatal(err)
		}
		m := archive.New(w, capture.NewSeen(), func(err error) { t.Error(err) })
		if err := errors.Join(m.WARC(t.Context(), strings.NewReader(source), "from"), w.Close()); err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(filepath.Join(dir, "out.cdxj"))
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		if size > 0 && len(files) < 2 {
			t.Errorf("%d files", len(files))
		}
		var want []string
		for _, name := range files {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			covered, err := warc.Covered(bytes.NewReader(index), filepath.Base(name))
			if err != nil || covered != int64(len(file)) {
				t.Errorf("%d of %d bytes covered, %v", covered, len(file), err)
			}
			_, err = warc.Index(bytes.NewReader(file), filepath.Base(name), func(e warc.IndexEntry) error {
				want = append(want, strings.TrimSpace(string(e.AppendTo(nil))))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		got := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(index)), "\n"), func(line string) bool { return line[0] == '!' })
		if !slices.Equal(got, want) || len(want) != 4 {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

// A request and its response are in the same file, so that the response to a POST is not used for a
// GET.
func TestExchangesStayInOneFile(t *testing.T) {
	t.Parallel()
	var source string
	for i := range 8 {
		date := fmt.Sprintf("2020-01-0%dT00:00:00Z", i+1)
		response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", i)
		source += record(fmt.Sprint(i), "request", date, "http://h/", "application/http;msgtype=request", "POST / HTTP/1.1\r\n\r\n") +
			strings.Replace(record("x", "response", date, "http://h/", "application/http;msgtype=response", response), "00x>", fmt.Sprintf("1%d>", i), 1)
	}
	dir := t.TempDir()
	w, err := warc.Create(filepath.Join(dir, "out"), warc.WriterOptions{MaxSize: 500})
	if err != nil {
		t.Fatal(err)
	}
	m := archive.New(w, capture.NewSeen(), func(err error) { t.Error(err) })
	if err := errors.Join(m.WARC(t.Context(), strings.NewReader(source), "from"), w.Close()); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if len(files) < 4 {
		t.Errorf("%d files", len(files))
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := warc.Verify(file, func(p warc.Problem) { t.Errorf("%s: %+v", name, p) })
		file.Close()
		if err != nil || s.Types["request"] != s.Types["response"] {
			t.Errorf("%s: %v, %v", name, s.Types, err)
		}
	}
}
