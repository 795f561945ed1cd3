package http_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestPartialContent checks valid and invalid responses to a request for five bytes at offset 10.
func TestPartialContent(t *testing.T) {
	t.Parallel()
	part := func(fields ...string) string {
		return "HTTP/1.1 206 Partial Content\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\nabcde"
	}
	tests := []struct {
		name, answer string
		code         fetch.Code
		body         string
		got          fetch.Range
		total        int64
	}{
		{"honest", part("Content-Range: bytes 10-14/100", "Content-Length: 5"), "", "abcde", fetch.Range{Offset: 10, Length: 5}, 100},
		{"total unknown", part("Content-Range: bytes 10-14/*", "Content-Length: 5"), "", "abcde", fetch.Range{Offset: 10, Length: 5}, 0},
		{"without length", part("Content-Range: bytes 10-14/100"), "", "abcde", fetch.Range{Offset: 10, Length: 5}, 100},
		{"the resource is shorter", part("Content-Range: bytes 10-12/13", "Content-Length: 3"), "", "abc", fetch.Range{Offset: 10, Length: 3}, 13},
		{"same tag", part("Content-Range: bytes 10-14/100", "Content-Length: 5", `ETag: "t"`), "", "abcde", fetch.Range{Offset: 10, Length: 5}, 100},
		{"all of it", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", "", "abcde", fetch.Range{}, 0},
		{"another offset", part("Content-Range: bytes 9-13/100", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"more than asked", part("Content-Range: bytes 10-15/100", "Content-Length: 6"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"length of something else", part("Content-Range: bytes 10-14/100", "Content-Length: 100"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"no Content-Range", part("Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"malformed Content-Range", part("Content-Range: bytes 10-14", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"two of Content-Range", part("Content-Range: bytes 10-14/100", "Content-Range: bytes 20-24/100", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"backwards", part("Content-Range: bytes 10-8/100", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"beyond the total", part("Content-Range: bytes 10-14/14", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"another unit", part("Content-Range: lines 10-14/100", "Content-Length: 5"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"several parts", part("Content-Type: multipart/byteranges; boundary=x", "Content-Range: bytes 10-14/100"), fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"another tag", part("Content-Range: bytes 10-14/100", "Content-Length: 5", `ETag: "u"`), fetch.ErrChanged, "", fetch.Range{}, 0},
		{"a tag turned weak", part("Content-Range: bytes 10-14/100", "Content-Length: 5", `ETag: W/"t"`), fetch.ErrChanged, "", fetch.Range{}, 0},
		{"shorter than announced", strings.TrimSuffix(part("Content-Range: bytes 10-14/100", "Content-Length: 5"), "de"), fetch.ErrTruncated, "", fetch.Range{}, 0},
		{"shorter, without length", strings.TrimSuffix(part("Content-Range: bytes 10-14/100"), "de"), fetch.ErrTruncated, "", fetch.Range{}, 0},
		{"longer, without length", part("Content-Range: bytes 10-14/100") + "f", fetch.ErrProtocol, "", fetch.Range{}, 0},
		{"all of it, transformed", "HTTP/1.1 203 Non-Authoritative Information\r\nContent-Length: 5\r\n\r\nabcde", "", "abcde", fetch.Range{}, 0},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", fetch.ErrChanged, "", fetch.Range{}, 0},
		{"reset", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", fetch.ErrChanged, "", fetch.Range{}, 0},
		{"accepted", "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nlater", fetch.ErrChanged, "", fetch.Range{}, 0},
		{"not satisfiable", "HTTP/1.1 416 No\r\nContent-Range: bytes */7\r\nContent-Length: 0\r\n\r\n", fetch.ErrRange, "", fetch.Range{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(raw(t, tt.answer, false)),
				Range: fetch.Range{Offset: 10, Length: 5}, IfChanged: fetch.Validator{ETag: `"t"`}})
			if fetch.CodeOf(err) != tt.code {
				t.Fatalf("%v, want class %q", err, tt.code)
			}
			if tt.code == fetch.ErrRange && !strings.Contains(err.Error(), "the content has 7 bytes") {
				t.Errorf("%v does not tell the size", err)
			}
			if err != nil {
				return
			}
			if body != tt.body || resp.Range != tt.got || resp.Total != tt.total || resp.Size != int64(len(tt.body)) {
				t.Errorf("%q, range %+v of %d, size %d", body, resp.Range, resp.Total, resp.Size)
			}
		})
	}
}

// TestRangeNotRequested checks ranges without a request for one: the complete resource is accepted.
func TestRangeNotRequested(t *testing.T) {
	t.Parallel()
	for fields, code := range map[string]fetch.Code{
		"Content-Range: bytes 0-4/5\r\nContent-Length: 5": "",
		"Content-Range: bytes 0-4/6\r\nContent-Length: 5": fetch.ErrProtocol,
		"Content-Range: bytes 1-5/6\r\nContent-Length: 5": fetch.ErrProtocol,
		"Content-Range: bytes 0-4/*\r\nContent-Length: 5": fetch.ErrProtocol,
		"Content-Range: bytes 0-5/6\r\nContent-Length: 5": fetch.ErrProtocol,
		"Content-Length: 5": fetch.ErrProtocol,
		"Content-Type: multipart/byteranges; boundary=b\r\nX: y": fetch.ErrProtocol,
	} {
		u := raw(t, "HTTP/1.1 206 Partial Content\r\n"+fields+"\r\n\r\nabcde", false)
		body, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(u)})
		if fetch.CodeOf(err) != code || err == nil && (body != "abcde" || resp.Range != fetch.Range{} || resp.Size != 5) {
			t.Errorf("%s: %q, %v; want class %q", fields, body, err, code)
		}
	}
}

// TestLastBytes requests the end of a resource from valid and invalid servers.
func TestLastBytes(t *testing.T) {
	t.Parallel()
	const part = "HTTP/1.1 206 Partial Content\r\n"
	tests := []struct {
		name, answer string
		code         fetch.Code
		got          fetch.Range
	}{
		{"honest", part + "Content-Range: bytes 95-99/100\r\nContent-Length: 5\r\n\r\nabcde", "", fetch.Range{Offset: 95, Length: 5}},
		{"total unknown", part + "Content-Range: bytes 95-99/*\r\nContent-Length: 5\r\n\r\nabcde", "", fetch.Range{Offset: 95, Length: 5}},
		{"fewer there are not", part + "Content-Range: bytes 0-2/3\r\nContent-Length: 3\r\n\r\nabc", "", fetch.Range{Length: 3}},
		{"all of it", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", "", fetch.Range{}},
		{"all of it, as a range", part + "Content-Range: bytes 0-99/100\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100), "", fetch.Range{}},
		{"all of it, as a range of another length", part + "Content-Range: bytes 0-99/100\r\nContent-Length: 5\r\n\r\nabcde", fetch.ErrProtocol, fetch.Range{}},
		{"more than asked", part + "Content-Range: bytes 94-99/100\r\nContent-Length: 6\r\n\r\nabcdef", fetch.ErrProtocol, fetch.Range{}},
		{"not the end", part + "Content-Range: bytes 0-4/100\r\nContent-Length: 5\r\n\r\nabcde", fetch.ErrProtocol, fetch.Range{}},
		{"none", "HTTP/1.1 416 No\r\nContent-Range: bytes */0\r\nContent-Length: 0\r\n\r\n", fetch.ErrRange, fetch.Range{}},
	}
	for _, tt := range tests {
		_, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(raw(t, tt.answer, false)),
			Range: fetch.Range{Offset: -5}})
		if fetch.CodeOf(err) != tt.code || err == nil && resp.Range != tt.got {
			t.Errorf("%s: %+v, %v; want %+v and class %q", tt.name, resp, err, tt.got, tt.code)
		}
	}
}

// TestSeveralRanges requests three ranges. Servers may merge or omit them.
func TestSeveralRanges(t *testing.T) {
	t.Parallel()
	const part = "HTTP/1.1 206 Partial Content\r\n"
	tests := []struct {
		name, answer string
		code         fetch.Code
		media        string
	}{
		{"parts", part + "Content-Type: multipart/byteranges; boundary=b\r\nContent-Length: 5\r\n\r\nabcde", "", "multipart/byteranges; boundary=b"},
		{"one part", part + "Content-Range: bytes 20-24/100\r\nContent-Length: 5\r\n\r\nabcde", "", ""},
		{"all of it", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", "", ""},
		{"cut off", part + "Content-Type: multipart/byteranges; boundary=b\r\nContent-Length: 6\r\n\r\nabcde", fetch.ErrTruncated, ""},
	}
	for _, tt := range tests {
		var sent string
		u := serveConns(t, func(conn net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				sent = r.Header.Get("Range")
				io.WriteString(conn, tt.answer)
			}
		})
		body, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(u),
			Ranges: []fetch.Range{{Offset: 0, Length: 11}, {Offset: 20}, {Offset: -7}}})
		if fetch.CodeOf(err) != tt.code || err == nil && (body != "abcde" || resp.ContentType != tt.media) {
			t.Errorf("%s: %q of %q, %v; want class %q", tt.name, body, resp.ContentType, err, tt.code)
		}
		if sent != "bytes=0-10,20-,-7" {
			t.Errorf("%s: asked for %q", tt.name, sent)
		}
	}
	u := raw(t, part+"Content-Range: bytes 10-14/100\r\nContent-Length: 5\r\n\r\nabcde", false)
	if _, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(u),
		Ranges: []fetch.Range{{Offset: 0, Length: 5}, {Offset: 20, Length: 5}}}); fetch.CodeOf(err) != fetch.ErrProtocol {
		t.Errorf("a part that was not asked for: %v", err)
	}
}

func TestPartWithoutRange(t *testing.T) {
	t.Parallel()
	u := raw(t, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/100\r\nContent-Length: 5\r\n\r\nabcde", false)
	drive.Fails(t, newClient(t, nil, urlhttp.Options{}), u, fetch.ErrProtocol)
}

// TestResume resumes the transfer of an unchanged and of a changed resource.
func TestResume(t *testing.T) {
	t.Parallel()
	content := "0123456789"
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", fmt.Sprintf("%q", content[:1]))
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(content))
	})
	c := newClient(t, nil, urlhttp.Options{})
	_, first, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u)})
	if err != nil {
		t.Fatal(err)
	}
	rest := &fetch.Request{URL: uri.MustParse(u), Range: fetch.Range{Offset: 4}, IfChanged: first.Validator}
	body, resp, err := drive.Do(t, c, rest)
	if err != nil || body != "456789" || resp.Range != (fetch.Range{Offset: 4, Length: 6}) || resp.Total != 10 {
		t.Errorf("unchanged: %q, %v", body, err)
	}
	content = "abcdefghij"
	body, resp, err = drive.Do(t, c, rest)
	if err != nil || body != content || !resp.Range.IsZero() {
		t.Errorf("changed: %q, %v; want all of it", body, err)
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `W/"1"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader("x"))
	})
	c := newClient(t, nil, urlhttp.Options{})
	for _, v := range []fetch.Validator{{ETag: `W/"1"`}, {ModTime: time.Unix(1e9, 0)}, {ETag: `W/"1"`, ModTime: time.Unix(1e9, 0)}} {
		_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u), IfChanged: v})
		if e := asError(t, err); e.Code != fetch.ErrNotModified || e.Reply.Code != 304 {
			t.Errorf("%+v: %v, want ErrNotModified", v, err)
		}
	}
	drive.Fails(t, c, raw(t, "HTTP/1.1 304 Not Modified\r\n\r\n", false), fetch.ErrProtocol) // 304 without a condition
}
