package data_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/data"
)

func TestGet(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, url, mediaType, want string }{
		{"RFC 2397 section 4, first example", "data:,A%20brief%20note", "text/plain; charset=US-ASCII", "A brief note"},
		{"RFC 2397 section 4, greek", "data:text/plain;charset=iso-8859-7,%be%d3%be", "text/plain; charset=iso-8859-7", "\xbe\xd3\xbe"},
		{"RFC 2397 section 4, quoted slash", "data:application/vnd-xxx-query,select_vcount,fcol_from_fieldtable/local",
			"application/vnd-xxx-query", "select_vcount,fcol_from_fieldtable/local"},
		{"base64", "data:text/html;base64,PGI+aGk8L2I+", "text/html", "<b>hi</b>"},
		{"base64 in capitals", "data:text/html;BASE64,aGk=", "text/html", "hi"},
		{"base64 of the default type", "data:;base64,aGk=", "text/plain; charset=US-ASCII", "hi"},
		{"base64 without padding", "data:;base64,aGk", "text/plain; charset=US-ASCII", "hi"},
		{"base64 in lines", "data:;base64,aG%0D%0A%20k%3D", "text/plain; charset=US-ASCII", "hi"},
		{"base64 is a parameter's value", "data:text/plain;x=base64,aGk", "text/plain; x=base64", "aGk"},
		{"charset only", "data:;charset=utf-8,%C3%A9", "text/plain; charset=utf-8", "é"},
		{"encoded parameter", "data:text/plain;n=%22a%20b%22,x", `text/plain; n="a b"`, "x"},
		{"empty", "data:,", "text/plain; charset=US-ASCII", ""},
		{"all bytes are data", "data:,%00%0D%0A%FF", "text/plain; charset=US-ASCII", "\x00\r\n\xff"},
		{"question mark is data", "data:,a?b", "text/plain; charset=US-ASCII", "a?b"},
		{"fragment is not data", "data:,a#b", "text/plain; charset=US-ASCII", "a"},
		{"slashes are data", "data:,//x", "text/plain; charset=US-ASCII", "//x"},
		{"dots are data", "data:,a/../b", "text/plain; charset=US-ASCII", "a/../b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, resp, err := drive.Do(t, drive.Client(t, nil, data.Load), &fetch.Request{URL: uri.MustParse(tt.url)})
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
			if resp.ContentType != tt.mediaType || resp.Size != int64(len(tt.want)) {
				t.Errorf("type %q, size %d; want %q, %d", resp.ContentType, resp.Size, tt.mediaType, len(tt.want))
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"data:", "data:text/plain", "data:;base64,a", "data:;base64,a*b=", "data:;base64,aGk==",
		"data:nonsense,x", "data:text/plain;charset,x", "data://host/,x", "data:;base64,aGk=aGk="} {
		if _, err := drive.Client(t, nil, data.Load).Get(t.Context(), u); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%s: %v, want ErrURL", u, err)
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		r    fetch.Range
		want string
		got  fetch.Range
		code error
	}{
		{r: fetch.Range{Offset: 2}, want: "cdef", got: fetch.Range{Offset: 2, Length: 4}},
		{r: fetch.Range{Offset: 1, Length: 2}, want: "bc", got: fetch.Range{Offset: 1, Length: 2}},
		{r: fetch.Range{Length: 9}, want: "abcdef", got: fetch.Range{Length: 6}},
		{r: fetch.Range{Offset: 6}, code: fetch.ErrRange},
		{r: fetch.Range{Offset: -1}, want: "f", got: fetch.Range{Offset: 5, Length: 1}},
		{r: fetch.Range{Offset: -1, Length: 1}, code: fetch.ErrRange},
	}
	for _, tt := range tests {
		resp, err := drive.Client(t, nil, data.Load).Do(t.Context(), &fetch.Request{URL: uri.MustParse("data:,abcdef"), Range: tt.r})
		if tt.code != nil {
			if !errors.Is(err, tt.code) {
				t.Errorf("%v: %v, want %v", tt.r, err, tt.code)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != tt.want || resp.Range != tt.got || resp.Total != 6 {
			t.Errorf("%v: %q, range %v of %d; want %q, %v of 6", tt.r, got, resp.Range, resp.Total, tt.want, tt.got)
		}
	}
}

func TestStat(t *testing.T) {
	t.Parallel()
	m, err := drive.Client(t, nil, data.Load).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("data:text/csv,a%2Cb")})
	if err != nil || m.Size != 3 || m.ContentType != "text/csv" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, err := range drive.Client(t, nil, data.Load).List(t.Context(), "data:,x") {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("List: %v", err)
		}
	}
	if _, err := drive.Client(t, nil, data.Load).Dial(t.Context(), "data:,x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Dial: %v", err)
	}
}

func FuzzGet(f *testing.F) {
	for _, s := range []string{"data:,x", "data:;base64,aGk=", "data:text/plain;charset=x;base64,a", "data:a/b;c=%22", "data:%2C,", "data://:1"} {
		f.Add(s)
	}
	c := drive.Client(f, nil, data.Load)
	f.Fuzz(func(t *testing.T, s string) {
		if !strings.HasPrefix(s, "data:") {
			s = "data:" + s
		}
		resp, err := c.Get(t.Context(), s)
		if err != nil {
			// The policy checks a port before the driver rejects it.
			if !errors.Is(err, fetch.ErrURL) && !errors.Is(err, fetch.ErrPolicy) {
				t.Errorf("%q: %v, want ErrURL", s, err)
			}
			return
		}
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if strings.ContainsAny(resp.ContentType, "\r\n\x00") {
			t.Errorf("%q: type %q", s, resp.ContentType)
		}
	})
}
