package http3

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// FuzzAnswerHead decodes whatever a server may send as the fields of an answer.
func FuzzAnswerHead(f *testing.F) {
	for _, seed := range []string{
		"\x00\x00\xd9",                         // :status: 200
		"\x00\x00\xd9\x54\x012",                // content-length: 2
		"\x00\x00\xd9\x23x-y\x01z",             // a name of its own
		"\x00\x00\xd9" + "\xc1\xc1\xc1",        // :path, which is for requests
		"\x00\x00\x5f\x09\x03103",              // another status
		"\x02\x00\x80",                         // of a table that there is not
		"\x00\x00\xff\xff\xff\xff\xff\xff\xff", // an index without end
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		resp, err := answerHead(block)
		if err != nil {
			return
		}
		if resp.StatusCode < 100 || resp.StatusCode > 999 || resp.ContentLength < -1 {
			t.Errorf("%d, %d bytes", resp.StatusCode, resp.ContentLength)
		}
		size := 0
		for name, values := range resp.Header {
			for _, v := range values {
				size += len(name) + len(v)
				if strings.ContainsAny(name+v, "\r\n\x00") || name != http.CanonicalHeaderKey(name) {
					t.Errorf("%q: %q", name, v)
				}
			}
		}
		if size > maxHead {
			t.Errorf("%d bytes of fields", size)
		}
	})
}

// TestZonesStayHere: a zone has a meaning on this machine only.
func TestZonesStayHere(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"https://[fe80::1%25lo]:8443/x": "[fe80::1]:8443",
		"https://[fe80::1%25lo]/x":      "[fe80::1]",
		"https://[::1]:443/x":           "[::1]:443",
		"https://h.example:1/%25":       "h.example:1",
	} {
		req, err := http.NewRequest(http.MethodGet, rawURL, nil)
		if err != nil {
			t.Fatal(err)
		}
		frame, err := requestHead(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := frames{bufio.NewReader(bytes.NewReader(frame))}
		_, length, err := f.next()
		if err != nil {
			t.Fatal(err)
		}
		block, err := f.read(length)
		if err != nil {
			t.Fatal(err)
		}
		err = fields(block, func(name, value string) error {
			if name == ":authority" && value != want {
				t.Errorf("%s: %q is sent, want %q", rawURL, value, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
