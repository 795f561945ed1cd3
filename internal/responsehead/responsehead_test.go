package responsehead

import (
	"bufio"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

const fileHead = "HTTP/1.1 200 OK\r\nServer: nginx/1.27.1\r\nDate: Mon, 30 Nov 2026 02:17:41 GMT\r\n" +
	"Content-Type: application/octet-stream\r\nContent-Length: 4\r\nLast-Modified: Mon, 02 Mar 2026 10:00:00 GMT\r\n" +
	"Connection: keep-alive\r\nETag: \"x\"\r\nAccept-Ranges: bytes\r\n\r\n"

// FuzzResponseHeads holds the heads of responses that are read in place against net/http.
func FuzzResponseHeads(f *testing.F) {
	for _, head := range []string{
		fileHead,
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200\r\ncontent-length:\t4 \r\nX-a: 1\r\nx-A: 2\r\nX-A:\r\n\r\n",
		"HTTP/1.1 200  OK\r\nContent-Length: 04\r\n\r\n",
		"HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 099 OK\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 404 Not\tFound \r\nContent-Length: 4\r\nConnection: Keep-Alive\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
		"HTTP/1.1 200 OK\r\n Content-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: \x80\xff\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\n",
	} {
		f.Add(head + "body")
	}
	f.Fuzz(func(t *testing.T, text string) {
		var ours http.Response
		n := Read([]byte(text), &ours)
		if n == 0 {
			return
		}
		in := bufio.NewReaderSize(strings.NewReader(text), len(text)+16)
		theirs, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", text, err)
		}
		if rest, err := io.ReadAll(in); err != nil || string(rest) != text[n:] {
			t.Errorf("net/http leaves %q, and we %q", rest, text[n:])
		}
		theirs.Body, theirs.Request = nil, nil
		if !reflect.DeepEqual(*theirs, ours) {
			t.Errorf("net/http reads %+v, and we %+v", *theirs, ours)
		}
	})
}

func TestHeadOfFileIsReadInPlace(t *testing.T) {
	var resp http.Response
	if n := testing.AllocsPerRun(100, func() {
		if Read([]byte(fileHead), &resp) != len(fileHead) {
			t.Fatal("it is left to net/http")
		}
	}); n > 5 {
		t.Errorf("%v allocations", n)
	}
}
