package download_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// TestCopy checks that a writer gets each byte once, or an error.
func TestCopy(t *testing.T) {
	t.Parallel()
	content, changed := pattern(10_000, 1), pattern(10_000, 2)
	tests := []struct {
		name     string
		script   []reply
		ask      fetch.Range
		want     []byte
		err      fetch.Code
		requests []string
	}{
		{name: "in one go", want: content, requests: []string{"all"}},
		{name: "cut", script: []reply{{cut: 100}}, want: content, requests: []string{"all", "100+0 if"}},
		{name: "ranges ignored", script: []reply{{cut: 100}, {noRange: true}}, want: content, requests: []string{"all", "100+0 if"}},
		{name: "no validator", script: []reply{{cut: 100, bare: true}}, want: content[:100], err: fetch.ErrTruncated, requests: []string{"all"}},
		{name: "changed", script: []reply{{cut: 100}, {edit: func(l *liar) { l.content, l.valid.ETag = changed, `"2"` }}},
			want: content[:100], err: fetch.ErrChanged, requests: []string{"all", "100+0 if"}},
		{name: "wrong offset", script: []reply{{cut: 100}, {shift: -1}}, want: content, requests: []string{"all", "100+0 if", "all"}},
		{name: "weak tag and time", script: []reply{{edit: func(l *liar) { l.valid.ETag = `W/"1"` }, cut: 100}}, want: content, requests: []string{"all", "100+0 if"}},
		{name: "weak tag only", script: []reply{{edit: func(l *liar) { l.valid = fetch.Validator{ETag: `W/"1"`} }, cut: 100}},
			want: content[:100], err: fetch.ErrTruncated, requests: []string{"all"}},

		{name: "range", ask: fetch.Range{Offset: 10, Length: 500}, want: content[10:510], requests: []string{"10+500"}},
		{name: "range cut", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{cut: 100}}, want: content[10:510], requests: []string{"10+500", "110+400 if"}},
		{name: "range ignored", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{noRange: true}}, want: content[10:510], requests: []string{"10+500"}},
		{name: "range ignored and cut", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{noRange: true, cut: 100}, {noRange: true}},
			want: content[10:510], requests: []string{"10+500", "100+410 if"}},
		{name: "range ignored, size unknown", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{noRange: true, unsized: true}}, want: content[10:510], requests: []string{"10+500"}},
		{name: "open range ignored", ask: fetch.Range{Offset: 9990}, script: []reply{{noRange: true}}, want: content[9990:], requests: []string{"9990+0"}},
		{name: "range across the end", ask: fetch.Range{Offset: 9990, Length: 100}, want: content[9990:], requests: []string{"9990+100"}},
		{name: "range fails after the last byte", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{cut: 500}}, want: content[10:510], requests: []string{"10+500", "all if"}},
		{name: "fails after the last byte, no validator", script: []reply{{cut: 10_000, bare: true}}, want: content, err: fetch.ErrTruncated, requests: []string{"all"}},
		{name: "range beyond the end", ask: fetch.Range{Offset: 10_000}, script: []reply{{noRange: true}}, err: fetch.ErrRange, requests: []string{"10000+0"}},
		{name: "another range", ask: fetch.Range{Offset: 10, Length: 500}, script: []reply{{shift: 1}}, err: fetch.ErrProtocol, requests: []string{"10+500"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, tt.script...)
				var out bytes.Buffer
				d := &download.Downloader{Client: fetch.New(nil, l.load)}
				r, err := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL), Range: tt.ask}, &out, nil)
				if fetch.CodeOf(err) != tt.err {
					t.Errorf("error %v", err)
				}
				if !bytes.Equal(out.Bytes(), tt.want) {
					t.Errorf("%d bytes, or wrong ones", out.Len())
				}
				if err == nil && r.Size != int64(len(tt.want)) {
					t.Errorf("result %+v", r)
				}
				if got := l.requests(); !slices.Equal(got, tt.requests) {
					t.Errorf("requests %q, want %q", got, tt.requests)
				}
			})
		})
	}
}

// A write error ends the transfer.
func TestCopyWriterFails(t *testing.T) {
	t.Parallel()
	l := newLiar(pattern(1<<20, 1))
	d := &download.Downloader{Client: fetch.New(nil, l.load)}
	r, w := io.Pipe()
	r.CloseWithError(errors.New("broken pipe"))
	_, err := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, w, nil)
	if !errors.Is(err, fetch.ErrFile) || !strings.Contains(err.Error(), "broken pipe") || len(l.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(l.requests()))
	}
}
