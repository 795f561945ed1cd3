package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

const api = "http://h.example/api"

// exchange returns the records of a request for api and its response.
func exchange(n int, request, content string) string {
	me := fmt.Sprint("e", n)
	return response(api, ok(content), id(me), date(fmt.Sprintf("2026-01-%02dT00:00:00Z", n))) +
		record("request", api, "application/http; msgtype=request", request, id(me+"r"), "WARC-Concurrent-To: <urn:"+me+">\r\n")
}

func sending(method, body, contentType string) string {
	head := method + " /api HTTP/1.1\r\nHost: h.example\r\n"
	if contentType != "" {
		head += "Content-Type: " + contentType + "\r\n"
	}
	if body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	return head + "\r\n" + body
}

// A capture answers only requests with its method and its body.
func TestRequestBodies(t *testing.T) {
	t.Parallel()
	form := func(boundary, value string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + value + "\r\n--" + boundary + "--\r\n"
	}
	const multipart = "multipart/form-data; boundary="
	long := strings.Repeat("x", 9<<20)
	file := filepath.Join(t.TempDir(), "a.warc")
	records := exchange(1, sending("POST", "q=1", ""), "one") + exchange(2, sending("POST", "q=2", ""), "two") +
		exchange(3, sending("PUT", "q=1", ""), "put") + exchange(4, sending("GET", "", ""), "got") +
		exchange(5, sending("GET", "q=1", ""), "got one") + exchange(6, sending("POST", "", ""), "nothing") +
		exchange(7, "POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nq=3\r\n0\r\n\r\n", "three") +
		exchange(8, sending("POST", form("b1", "x"), multipart+"b1"), "form") +
		exchange(9, sending("POST", long, ""), "long") +
		exchange(10, "DELETE /a b HTTP/1.1\r\n\r\n", "odd")
	for name, part := range map[string]string{"": records, ".gz": string(zipped(t, records))} {
		if err := os.WriteFile(file+name, []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	indexed := filepath.Join(t.TempDir(), "b.warc")
	if err := os.WriteFile(indexed, []byte(records), 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := os.Create(warc.IndexName(indexed))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	if err := warc.WriteIndex(index, strings.NewReader(records), "b.warc"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + ".gz", indexed} {
		c := clientOf(t, replay.Options{}, path)
		for _, tt := range []struct{ method, body, contentType, want string }{
			{"POST", "q=1", "", "one"},
			{"POST", "q=2", "", "two"},
			{"POST", "q=3", "", "three"},
			{"", "q=2", "", "two"},
			{"PUT", "q=1", "", "put"},
			{"GET", "q=1", "", "got one"},
			{"GET", "", "", "got"},
			{"POST", "", "", "nothing"},
			{"POST", form("other", "x"), multipart + "other", "form"},
			{"POST", form("other", "y"), multipart + "other", "! not in the archive with this body"},
			{"POST", "q=9", "", "! not in the archive with this body"},
			{"PUT", "", "", "! not in the archive without a body"},
			{"GET", "q=2", "", "! not in the archive with this body"},
			{"PUT", "q=2", "", "! not in the archive with this body"},
			{"DELETE", "", "", "! not in the archive without a body"},
			{"PATCH", "q=1", "", "! not in the archive with PATCH, only with DELETE, GET, POST, PUT"},
		} {
			for _, once := range []bool{false, true} {
				req := getRequest(api)
				req.Method = tt.method
				if tt.contentType != "" {
					req.Header = textproto.MIMEHeader{"Content-Type": {tt.contentType}}
				}
				body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(tt.body)), nil }
				switch {
				case tt.body == "":
				case once: // as from the client of a proxy
					req.Body, _ = body()
				default:
					req.GetBody = body
				}
				if got := withReason(c, req); got != tt.want {
					t.Errorf("%s: %s %.40q, once %v: %q, want %q", path, tt.method, tt.body, once, got, tt.want)
				}
			}
		}
		once := getRequest(api)
		once.Body = io.NopCloser(strings.NewReader(long))
		if got := withReason(c, once); got != "! not in the archive: the body is longer than 8388608 bytes, so it is not compared" {
			t.Errorf("%s: long body: %q", path, got)
		}
	}
}

// withReason is get with the reason for a missing capture.
func withReason(c *fetch.Client, req *fetch.Request) string {
	resp, err := c.Do(context.Background(), req)
	if err != nil {
		var e *fetch.Error
		if errors.As(err, &e) && e.Code == fetch.ErrNotFound {
			return "! " + e.Err.Error()
		}
		return "! " + err.Error()
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// A body that was compared with the archive in vain is sent whole, whatever its length.
func TestComparedBodiesAreSent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(file, []byte(exchange(1, sending("POST", "q=1", ""), "one")), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, sent := range []string{"q=2", strings.Repeat("x", 9<<20)} {
		var got string
		next := fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			data, err := io.ReadAll(req.Body)
			got = string(data)
			return nil, errors.Join(err, errors.ErrUnsupported)
		})
		req := getRequest(api)
		req.Body = io.NopCloser(strings.NewReader(sent))
		if _, err := a.Middleware(replay.Options{})(next).Open(t.Context(), req); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
		if got != sent {
			t.Errorf("%d bytes were sent of %d", len(got), len(sent))
		}
	}
}
