package warc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	long := "HTTP/1.1 103 Early Hints\r\nLink: " + strings.Repeat("x", 4096-len("Link: ")) + "\r\n\r\n"
	for _, tt := range []struct{ block, want string }{
		{"HTTP/1.1 200 OK\r\n\r\npear", "HTTP/1.1 200 OK\r\n\r\npear"},
		{"HTTP/1.1 101 Switching Protocols\r\n\r\npear", "HTTP/1.1 101 Switching Protocols\r\n\r\npear"},
		{"HTTP/2 200\r\n\r\npear", "HTTP/2.0 200\r\n\r\npear"},
		{"HTTP/3 200 OK\r\n\r\npear", "HTTP/3.0 200 OK\r\n\r\npear"},
		{"HTTP/2.0 200 OK\r\n\r\npear", "HTTP/2.0 200 OK\r\n\r\npear"},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\npear", "HTTP/1.1 200 OK\r\n\r\npear"},
		{"HTTP/1.1 100\n\nHTTP/2 103\r\nLink: a\r\n\r\nHTTP/2 200\r\n\r\npear", "HTTP/2.0 200\r\n\r\npear"},
		{long + "HTTP/1.1 200 OK\r\n\r\npear", "HTTP/1.1 200 OK\r\n\r\npear"},
		{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"},
		{"HTTP/1.1 100 Continue\r\nno end", "HTTP/1.1 100 Continue\r\nno end"},
		{"HTTP/1.1 100 Continue\r\n\r\nrubbish", "rubbish"},
		{"", ""}, {"H", "H"}, {"100 pears", "100 pears"},
	} {
		for _, src := range []io.Reader{strings.NewReader(tt.block), iotest.OneByteReader(strings.NewReader(tt.block))} {
			if got, err := io.ReadAll(Answer(src)); string(got) != tt.want || err != nil {
				t.Errorf("%.60q: got %.60q, want %.60q; %v", tt.block, got, tt.want, err)
			}
		}
	}
	endless := strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2*maxIndexedHead/25)
	if got, err := io.ReadAll(Answer(strings.NewReader(endless))); string(got) != endless || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), len(endless), err)
	}
	for _, begin := range []string{"", "HTTP/", "HTTP/1.1 100 Continue\r\n"} {
		src := io.MultiReader(strings.NewReader(begin), iotest.ErrReader(io.ErrNoProgress))
		if got, err := io.ReadAll(Answer(src)); string(got) != begin || !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%q: %q, %v", begin, got, err)
		}
	}
}

// What other programs write before an answer, and as its version, changes nothing for indexes and
// digests.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	const web = "Content-Type: application/http;msgtype=response\r\n"
	for _, head := range []string{"HTTP/2 404\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n"} {
		file := []byte(text("1.0", "response", "http://h/a", head+"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", web,
			"WARC-Payload-Digest: "+sha1Of("pear")+"\r\n"))
		var got []IndexEntry
		if _, err := Index(bytes.NewReader(file), "f", func(e IndexEntry) error { got = append(got, e); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Status != 404 || got[0].Mime != "text/html" {
			t.Errorf("%q: %+v", head, got)
		}
		if _, err := Verify(bytes.NewReader(file), func(p Problem) { t.Errorf("%q: %+v", head, p) }); err != nil {
			t.Error(err)
		}
	}
}
