package httprecord

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFinal(t *testing.T) {
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
			if got, err := io.ReadAll(Final(src)); string(got) != tt.want || err != nil {
				t.Errorf("%.60q: got %.60q, want %.60q; %v", tt.block, got, tt.want, err)
			}
		}
	}
	endless := strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2*maxHead/25)
	if got, err := io.ReadAll(Final(strings.NewReader(endless))); string(got) != endless || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), len(endless), err)
	}
	for _, begin := range []string{"", "HTTP/", "HTTP/1.1 100 Continue\r\n"} {
		src := io.MultiReader(strings.NewReader(begin), iotest.ErrReader(io.ErrNoProgress))
		if got, err := io.ReadAll(Final(src)); string(got) != begin || !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%q: %q, %v", begin, got, err)
		}
	}
}
