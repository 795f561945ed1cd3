package fetch_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestTextLineEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, lf, crlf string }{
		{"", "", ""},
		{"a", "a", "a"},
		{"\r\n", "\n", "\r\n"},
		{"a\r\nb", "a\nb", "a\r\nb"},
		{"a\nb\n", "a\nb\n", "a\r\nb\r\n"},
		{"\r", "\r", "\r"},
		{"a\rb", "a\rb", "a\rb"},
		{"\r\r\n", "\r\n", "\r\r\n"},
		{"\n\r", "\n\r", "\r\n\r"},
		{strings.Repeat("x", 32<<10-1) + "\r\ny", strings.Repeat("x", 32<<10-1) + "\ny", strings.Repeat("x", 32<<10-1) + "\r\ny"},
	} {
		for ends, want := range map[fetch.LineEnds]string{fetch.LineEndsAsIs: tt.in, fetch.LineEndsLF: tt.lf, fetch.LineEndsCRLF: tt.crlf} {
			for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
				got, resp, err := lineEnds(t, ends, tt.in, wrap, fetch.Meta{Text: true})
				if got != want || err != nil || ends != fetch.LineEndsAsIs && resp.Size != -1 {
					t.Errorf("%q, %q: %q, size %d, %v", ends, tt.in, got, resp.Size, err)
				}
			}
		}
	}
}

func TestOtherContentKeepsLineEnds(t *testing.T) {
	t.Parallel()
	for _, meta := range []fetch.Meta{{}, {ContentType: "text/plain"}, {Kind: fetch.KindListing, Text: true}} {
		if got, resp, err := lineEnds(t, fetch.LineEndsLF, "a\r\n", iotest.HalfReader, meta); got != "a\r\n" || resp.Size != 3 || err != nil {
			t.Errorf("%+v: %q, size %d, %v", meta, got, resp.Size, err)
		}
	}
	part := fetch.Meta{Text: true, Range: fetch.Range{Offset: 1}}
	if _, _, err := lineEnds(t, fetch.LineEndsLF, "a\r\n", iotest.HalfReader, part); !errors.Is(err, fetch.ErrRange) {
		t.Errorf("a part: %v", err)
	}
}

// A truncated body is an error even if its line endings are converted.
func TestTextLineEndsAndFailures(t *testing.T) {
	t.Parallel()
	cut := func(io.Reader) io.Reader { return strings.NewReader("a\r") }
	if got, _, err := lineEnds(t, fetch.LineEndsLF, "a\r\n", cut, fetch.Meta{Text: true}); got != "a\r" || !errors.Is(err, fetch.ErrTruncated) {
		t.Errorf("%q, %v", got, err)
	}
}

func lineEnds(t *testing.T, ends fetch.LineEnds, text string, wrap func(io.Reader) io.Reader, meta fetch.Meta) (string, *fetch.Response, error) {
	t.Helper()
	c := fetch.New(&fetch.Options{TextLineEnds: ends}, fetch.Use("x-text", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		meta.Size = int64(len(text))
		return &fetch.Response{Meta: meta, Body: io.NopCloser(wrap(strings.NewReader(text)))}, nil
	})))
	resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x-text://h/")})
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), resp, err
}
