package download_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// The end of a resource can be retrieved from every server that reports the size, even without ranges.
func TestRangeFromEnd(t *testing.T) {
	t.Parallel()
	content := pattern(1000, 1)
	get, stat := []fetch.Op{fetch.OpGet}, []fetch.Op{fetch.OpGet, fetch.OpStat}
	tests := []struct {
		name   string
		scheme fetch.Scheme
		last   int64
		script []reply
		asked  []string
		code   fetch.Code
	}{
		{"by itself", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 10, nil, []string{"-10+0"}, ""},
		{"by its size", fetch.Scheme{Ops: stat, Ranges: true}, 10, nil, []string{"all", "990+0"}, ""},
		{"without ranges", fetch.Scheme{Ops: stat}, 10, nil, []string{"all"}, ""},
		{"ranges are ignored", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 10, []reply{{noRange: true}}, []string{"-10+0"}, ""},
		{"more than there is", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 5000, nil, []string{"-5000+0"}, ""},
		{"more than there is, by its size", fetch.Scheme{Ops: stat, Ranges: true}, 5000, nil, []string{"all", "all"}, ""},
		{"cut off", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 100, []reply{{cut: 30}}, []string{"-100+0", "930+0 if"}, ""},
		{"cut off, by its size", fetch.Scheme{Ops: stat, Ranges: true}, 100, []reply{{}, {cut: 30}}, []string{"all", "900+0", "930+0 if"}, ""},
		{"cut off, without ranges", fetch.Scheme{Ops: get}, 100, []reply{{cut: 930, noRange: true}, {noRange: true, blind: true}},
			[]string{"all", "930+0 if"}, ""},
		{"no size", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 10, []reply{{noRange: true, unsized: true}}, []string{"-10+0"}, fetch.ErrRange},
		{"a part, but of no known size", fetch.Scheme{Ops: get, Ranges: true, RangeSets: true}, 10, []reply{{unsized: true}}, []string{"-10+0"}, ""},
	}
	for _, tt := range tests {
		for _, toFile := range []bool{true, false} {
			l := newLiar(content, slices.Clone(tt.script)...)
			tt.scheme.Name, tt.scheme.Driver = "x-liar", l
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			d := &download.Downloader{Root: root,
				Client: fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) { reg.Register(tt.scheme) })}
			req := &fetch.Request{URL: uri.MustParse(liarURL), Range: fetch.Range{Offset: -tt.last}}
			var got []byte
			if toFile {
				if _, err = d.Do(t.Context(), req, "end", &download.Options{Retry: retry.Policy{Wait: 1}}); err == nil {
					got, err = os.ReadFile(filepath.Join(dir, "end"))
				}
			} else {
				var b bytes.Buffer
				_, err = d.Copy(t.Context(), req, &b, &download.Options{Retry: retry.Policy{Wait: 1}})
				got = b.Bytes()
			}
			want := content[max(0, 1000-tt.last):]
			if fetch.CodeOf(err) != tt.code || tt.code == "" && !bytes.Equal(got, want) {
				t.Errorf("%s, to a file %v: %d bytes of %d, %v", tt.name, toFile, len(got), len(want), err)
			}
			if asked := l.requests(); !slices.Equal(asked, tt.asked) {
				t.Errorf("%s, to a file %v: asked for %q, want %q", tt.name, toFile, asked, tt.asked)
			}
			if req.Range.Offset != -tt.last {
				t.Error("the caller's request was changed")
			}
		}
	}
}
