package warc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPublishedRecords reads records that warcio (Apache-2.0) publishes with their digests, and says the
// same of them: the records, their types, and which of the digests are wrong.
func TestPublishedRecords(t *testing.T) {
	t.Parallel()
	const head, id = "WARC-Target-URI: http://example.com/\r\nWARC-Date: 2000-01-01T00:00:00Z\r\n", "WARC-Record-ID: <urn:uuid:12345678-feb0-11e6-8f83-68a86d1772ce>\r\n"
	record := func(kind, media, digests, block string) string {
		return "WARC/1.0\r\nWARC-Type: " + kind + "\r\n" + id + head + digests +
			fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n\r\n", media, len(block)) + block + "\r\n\r\n"
	}
	const asked, answered = "application/http; msgtype=request", "application/http; msgtype=response"
	info := "software: recorder test\r\nformat: WARC File Format 1.0\r\njson-metadata: {\"foo\": \"bar\"}\r\n"
	get := "GET / HTTP/1.0\r\nUser-Agent: foo\r\nHost: example.com\r\n\r\n"
	plain := "HTTP/1.0 200 OK\r\nContent-Type: text/plain; charset=\"UTF-8\"\r\nCustom-Header: somevalue\r\n\r\nsome\ntext"
	coded := "HTTP/1.0 200 OK\r\nContent-Type: text/plain; charset=\"UTF-8\"\r\nContent-Length: 9\r\nCustom-Header: somevalue\r\n" +
		"Content-Encoding: x-unknown\r\n\r\nsome\ntext"
	digests := func(payload, block string) string {
		return "WARC-Payload-Digest: sha1:" + payload + "\r\nWARC-Block-Digest: sha1:" + block + "\r\n"
	}
	for _, tt := range []struct{ name, file, kinds, problems string }{
		{"information", record("warcinfo", "application/warc-fields", "WARC-Block-Digest: sha1:GAD6P5BTZPRU57ICXEYUJZGCURZYABID\r\n", info), "warcinfo", ""},
		{"a request", record("request", asked, digests("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "ONEHF6PTXPTTHE3333XHTD2X45TZ3DTO"), get), "request", ""},
		{"a request with a wrong digest of the payload",
			record("request", asked, digests("1112H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "ONEHF6PTXPTTHE3333XHTD2X45TZ3DTO"), get), "request",
			"payload does not match digest sha1:1112H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"},
		{"a request with a wrong digest of the block",
			record("request", asked, digests("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "1112H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), get), "request",
			"block does not match digest sha1:1112H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"},
		{"a response", record("response", answered, digests("B6QJ6BNJ3R4B23XXMRKZKHLPGJY2VE4O", "OS3OKGCWQIJOAOC3PKXQOQFD52NECQ74"), plain), "response", ""},
		{"a response with an unknown coding",
			record("response", answered, digests("B6QJ6BNJ3R4B23XXMRKZKHLPGJY2VE4O", "U6KNJY5MVNU3IMKED7FSO2JKW6MZ3QUX"), coded), "response", ""},
		{"records of one exchange", record("response", answered, digests("B6QJ6BNJ3R4B23XXMRKZKHLPGJY2VE4O", "OS3OKGCWQIJOAOC3PKXQOQFD52NECQ74"), plain) +
			record("request", asked, digests("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "ONEHF6PTXPTTHE3333XHTD2X45TZ3DTO"), get),
			"request response", "duplicate WARC-Record-ID"},
	} {
		var problems, kinds []string
		s, err := Verify(bytes.NewReader([]byte(tt.file)), func(p Problem) { problems = append(problems, p.Text) })
		for kind, n := range s.Types {
			kinds = append(kinds, slices.Repeat([]string{kind}, n)...)
		}
		slices.Sort(kinds)
		if err != nil || strings.Join(kinds, " ") != tt.kinds || strings.Join(problems, "; ") != tt.problems {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.name, kinds, problems, err, tt.kinds, tt.problems)
		}
	}
}

// TestPublishedTorture reads the records without blocks that warcio publishes for its validator. Ours says
// which mandatory fields are missing; the records after them are read.
func TestPublishedTorture(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	kinds := strings.Fields("warcinfo response resource resource resource request request metadata metadata revisit revisit revisit " +
		"conversion continuation continuation")
	for i, kind := range kinds {
		fmt.Fprintf(&file, "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <uri:uuid:test-%d>\r\nWARC-Target-URI: HtTp://example.com/\r\n"+
			"Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n\r\n\r\n", kind, i)
	}
	n := 0
	s, err := Verify(strings.NewReader(file.String()), func(p Problem) {
		if want := fmt.Sprintf("uri:uuid:test-%d", n); p.Text != "missing WARC-Date" || strings.Trim(p.ID, "<>") != want {
			t.Errorf("%+v, want the missing date of %s", p, want)
		}
		n++
	})
	if err != nil || s.Records != len(kinds) || n != len(kinds) || s.Types["continuation"] != 2 {
		t.Errorf("%+v, %d problems, %v", s, n, err)
	}
}

// TestOddFilesAsInPywb reads files like two that pywb publishes: one whose line ends were converted twice,
// and one whose lengths are not numbers, in which nothing shows where a record ends. The keys are those of
// its index of POST requests.
func TestOddFilesAsInPywb(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.0 302 \r\nLocation: http://h.example/next\r\n\r\n"
	converted := strings.ReplaceAll(text("1.0", "response", "http://h.example/a", head, "Content-Type: application/http\r\n"),
		"\r\n", "\r\r\n")
	r, err := NewReader(strings.NewReader(converted))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rec.HTTPResponse(1 << 10)
	if err != nil || resp.StatusCode != 302 || resp.Header.Get("Location") != "http://h.example/next" {
		t.Errorf("%+v, %v", resp, err)
	}
	const unknown = "filedesc://a.arc 192.0.2.7 20140301000000 text/plain -1\n1 0 Odd\n\n" +
		"http://h.example/ 192.0.2.8 201404010000000000 text/html abc\n"
	if got := read(t, []byte(unknown)); !slices.Equal(got, []string{"damage at 0"}) {
		t.Errorf("unknown lengths: %q", got)
	}
	for _, tt := range []struct{ url, body, want string }{
		{"http://httpbin.org/post", "foo=bar&test=abc", "org,httpbin)/post?__wb_method=post&foo=bar&test=abc"},
		{"http://httpbin.org/post", "a=1&b=[]&c=3", "org,httpbin)/post?__wb_method=post&a=1&b=[]&c=3"},
		{"http://httpbin.org/post?foo=bar", "data=^", "org,httpbin)/post?__wb_method=post&data=^&foo=bar"},
	} {
		method, query, err := readRequest(strings.NewReader(fmt.Sprintf("POST /post HTTP/1.1\r\nHost: httpbin.org\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		e := IndexEntry{URL: tt.url, Method: method, RequestBody: query}
		if got := e.key(); got != tt.want {
			t.Errorf("%s: key %q, want %q", tt.body, got, tt.want)
		}
	}
}
