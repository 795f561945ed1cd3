package warc

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func sha1Of(content string) string {
	sum := sha1.Sum([]byte(content))
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r\nar\r\n0\r\n\r\n"
	_, framed, _ := strings.Cut(chunked, "\r\n\r\n")
	const web = "Content-Type: application/http;msgtype=response\r\n"
	const asked = "Content-Type: application/http;msgtype=request\r\n"
	n := 0
	rec := func(kind, block string, more ...string) string {
		n++
		return strings.Replace(text("1.1", kind, "http://h/", block, more...), "urn:x", fmt.Sprint("urn:", n), 1)
	}
	valid := rec("resource", "pear", "WARC-Block-Digest: "+sha1Of("pear")+"\r\n", "WARC-Payload-Digest: "+sha1Of("pear")+"\r\n") +
		rec("response", chunked, web, "WARC-Payload-Digest: "+sha1Of("pear")+"\r\n") +
		rec("response", chunked, web, "WARC-Payload-Digest: "+sha1Of(framed)+"\r\n") +
		rec("response", chunked[:60], web, "WARC-Truncated: disconnect\r\nWARC-Payload-Digest: "+sha1Of("?")+"\r\n") +
		rec("revisit", "", "WARC-Refers-To: <urn:1>\r\n") + rec("revisit", "", "WARC-Refers-To: <urn:none>\r\n")
	tests := []struct{ name, file, want string }{
		{"valid records", valid, ""},
		{"a segment", valid + rec("resource", "pe", "WARC-Segment-Number: 1\r\n", "WARC-Payload-Digest: "+sha1Of("pear")+"\r\n"), ""},
		{"a block", valid + rec("resource", "pear", "WARC-Block-Digest: "+sha1Of("apple")+"\r\n"), "block does not match digest"},
		{"a payload", valid + rec("response", chunked, web, "WARC-Payload-Digest: "+sha1Of("apple")+"\r\n"), "payload does not match digest"},
		{"an empty payload", valid + rec("resource", "pear", "WARC-Payload-Digest: "+sha1Of("")+"\r\n"), "payload does not match digest"},
		{"no payload digest at all", valid + rec("resource", "pear", "WARC-Payload-Digest: sha1:pear\r\n"), "payload does not match digest sha1:pear"},
		{"an unknown algorithm", valid + rec("resource", "pear", "WARC-Payload-Digest: crc:pear\r\n"), ""},
		{"a body of a request", valid + rec("request", "POST / HTTP/1.1\r\n\r\npear", asked, "WARC-Payload-Digest: "+sha1Of("pear")+"\r\n"), ""},
		{"another body of a request", valid + rec("request", "POST / HTTP/1.1\r\n\r\npear", asked, "WARC-Payload-Digest: "+sha1Of("")+"\r\n"), "payload does not match digest"},
		{"duplicate ID", valid + strings.Replace(rec("resource", "a"), fmt.Sprint("urn:", n), "urn:1", 1), "duplicate WARC-Record-ID"},
		{"no date", valid + strings.Replace(rec("resource", "a"), "WARC-Date", "X-Date", 1), "missing WARC-Date"},
		{"no HTTP response", valid + rec("response", "<p>pear", web), `expected an HTTP response, found "<p>pear"`},
		{"a part of an HTTP response", valid + rec("response", "HT", web, "WARC-Truncated: disconnect\r\n"), ""},
		{"truncated", valid + rec("resource", "a")[:50], "truncated record"},
	}
	for _, tt := range tests {
		var got []string
		s, err := Verify(bytes.NewReader([]byte(tt.file)), func(p Problem) {
			if p.Offset < int64(len(valid)) {
				t.Errorf("%s: problem at byte %d", tt.name, p.Offset)
			}
			got = append(got, p.Text)
		})
		if err != nil || s.Records < 6 || s.External != 1 {
			t.Errorf("%s: %+v, %v", tt.name, s, err)
		}
		if all := strings.Join(got, "; "); !strings.Contains(all, tt.want) || tt.want == "" && all != "" {
			t.Errorf("%s: %q, want %q", tt.name, all, tt.want)
		}
	}
}

// TestVerifyLongerBodies checks that bodies longer than their Content-Length are counted and are not
// problems.
func TestVerifyLongerBodies(t *testing.T) {
	t.Parallel()
	const web = "Content-Type: application/http;msgtype=response\r\n"
	file := text("1.1", "response", "http://h/", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\npear", web, "WARC-Payload-Digest: "+sha1Of("pear")+"\r\n") +
		strings.Replace(text("1.1", "response", "http://h/", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear", web), "urn:x", "urn:y", 1)
	s, err := Verify(strings.NewReader(file), func(p Problem) { t.Errorf("problem: %s", p.Text) })
	if err != nil || s.Longer != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A head without an end is not held in memory.
func TestVerifyEndlessHead(t *testing.T) { // not parallel: it measures allocations
	const size = 16 << 20
	block := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", size)
	file := strings.NewReader(text("1.1", "response", "http://h/", block, "Content-Type: application/http;msgtype=response\r\nWARC-Payload-Digest: "+sha1Of("")+"\r\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Verify(file, func(Problem) {}); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*size {
		t.Errorf("%d bytes allocated", used)
	}
}
