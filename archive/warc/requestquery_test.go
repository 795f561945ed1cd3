package warc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Most bodies are those of the tests of cdxj-indexer.
func TestKeysOfRequestsWithBody(t *testing.T) {
	t.Parallel()
	const form, jsonType = "application/x-www-form-urlencoded", "application/json"
	multi := strings.ReplaceAll(`--B
Content-Disposition: form-data;name="ts"

17
--B
Content-Disposition: form-data; name="post_0"; filename="blob"
Content-Type: application/octet-stream

`+"\x9c"+`
--B--
`, "\n", "\r\n")
	for _, tt := range []struct{ method, url, contentType, body, want string }{
		{"POST", "http://h/", form, "foo=bar&dir=%2Fbaz", "h)/?__wb_method=post&dir=/baz&foo=bar"},
		{"POST", "http://h/?123=ABC", form, "foo=bar&dir=%2Fbaz", "h)/?123=abc&__wb_method=post&dir=/baz&foo=bar"},
		{"PUT", "http://h/", form, "foo=bar", "h)/?__wb_method=put&foo=bar"},
		{"DELETE", "http://h/", form, "foo=bar", "h)/?__wb_method=delete"},
		{"POST", "http://h/", form, "a=1&b=[]&c=3", "h)/?__wb_method=post&a=1&b=[]&c=3"},
		{"POST", "http://h/", form, "", "h)/?__wb_method=post"},
		{"POST", "http://h/", form, "a=b+c&d=%zz%", "h)/?__wb_method=post&a=b%20c&d=%25zz%25"},
		{"POST", "http://h/", form, "a=b%23c&d=e", "h)/?__wb_method=post&a=b"},
		{"POST", "http://h/", form, "\x816l`", "h)/?__wb_method=post&__wb_post_data=gtzsya=="},
		{"POST", "http://h/", jsonType, `{"a": "b", "c": {"a": 2}, "d": "e"}`, "h)/?__wb_method=post&a=b&a.2_=2&d=e"},
		{"POST", "http://h/", jsonType, `[{"a": "b", "c": {"a": 2}}, {"d": "e"}, "ignored", false, null, 0]`, "h)/?__wb_method=post&a=b&a.2_=2&d=e"},
		{"POST", "http://h/", jsonType, `{"a": "b"}` + "\n" + `{"c": {"a": 2}, "d": "e"}`, "h)/?__wb_method=post&a=b&a.2_=2&d=e"},
		{"POST", "http://h/", jsonType, `{"a": true, "b": null, "c": 1e2, "d": 1e16, "e": -0, "f": 0.00001}`,
			"h)/?__wb_method=post&a=true&b=none&c=100.0&d=1e+16&e=0&f=1e-05"},
		{"POST", "http://h/", jsonType, `{"a": [1, 2]`, "h)/?__wb_method=post"},
		{"POST", "http://h/", "text/plain", `{"a": [1, 2]}`, "h)/?__wb_method=post&a=1&a.2_=2"},
		{"POST", "http://h/pathbar?id=123", "text/plain", "foo=bar&dir=%2Fbaz", "h)/pathbar?__wb_method=post&__wb_post_data=zm9vpwjhcizkaxi9jtjgymf6&id=123"},
		{"POST", "http://h/", "application/octet-stream", "foo=bar&dir=%2Fbaz", "h)/?__wb_method=post&__wb_post_data=zm9vpwjhcizkaxi9jtjgymf6"},
		{"POST", "http://h/", "multipart/form-data; boundary=B", multi, "h)/?__wb_method=post&post_0=%9c&ts=17"},
		{"POST", "http://h/", "multipart/form-data", "foo=bar&dir=%2Fbaz", "h)/?__wb_method=post&__wb_post_data=zm9vpwjhcizkaxi9jtjgymf6"},
	} {
		request := fmt.Sprintf("%s / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			tt.method, tt.contentType, len(tt.body), tt.body)
		method, query, err := readRequest(strings.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		e := IndexEntry{URL: tt.url, Method: method, RequestBody: query}
		if got := e.key(); got != tt.want {
			t.Errorf("%s %s %q: got %q, want %q", tt.method, tt.contentType, tt.body, got, tt.want)
		}
	}
}

func TestBodiesOfRequestsInIndexes(t *testing.T) {
	t.Parallel()
	long := "a=" + strings.Repeat("\u00e4", 2*maxQuery)
	for _, tt := range []struct{ body, want string }{{"foo=bar", "foo=bar"}, {long, string([]rune(long)[:maxQuery])}} {
		request := fmt.Sprintf("POST /v HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(tt.body), tt.body)
		const web = "Content-Type: application/http\r\n"
		file := text("1.1", "response", "http://h/v", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", web) +
			text("1.1", "request", "http://h/v", request, web, "WARC-Concurrent-To: <urn:x>\r\n")
		var index bytes.Buffer
		if err := WriteIndex(&index, strings.NewReader(file), "a.warc"); err != nil {
			t.Fatal(err)
		}
		found := false
		err := ReadIndex(&index, func(e IndexEntry) error {
			found = e.Method == "POST" && e.RequestBody == tt.want
			return nil
		})
		if err != nil || !found {
			t.Errorf("%.20q: %v", tt.body, err)
		}
	}
}
