package remotefile

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestSelectPart(t *testing.T) {
	t.Parallel()
	now := fetch.Validator{ETag: `"a"`, ModTime: time.Unix(5, 0)}
	for name, tt := range map[string]struct {
		size  int64
		want  fetch.Range
		known fetch.Validator
		got   fetch.Meta // without Validator
		code  fetch.Code
	}{
		"everything":              {size: 9, got: fetch.Meta{Size: 9}},
		"the same as known":       {size: 9, known: fetch.Validator{ETag: `"a"`}, code: fetch.ErrNotModified},
		"the same by its time":    {size: 9, known: fetch.Validator{ModTime: time.Unix(5, 0)}, code: fetch.ErrNotModified},
		"another one":             {size: 9, known: fetch.Validator{ETag: `"b"`, ModTime: time.Unix(5, 0)}, got: fetch.Meta{Size: 9}},
		"the rest":                {size: 9, want: fetch.Range{Offset: 4}, got: fetch.Meta{Size: 5, Range: fetch.Range{Offset: 4}, Total: 9}},
		"the rest of the same":    {size: 9, want: fetch.Range{Offset: 4}, known: now, got: fetch.Meta{Size: 5, Range: fetch.Range{Offset: 4}, Total: 9}},
		"the rest of another":     {size: 9, want: fetch.Range{Offset: 4}, known: fetch.Validator{ETag: `"b"`}, got: fetch.Meta{Size: 9}},
		"a part":                  {size: 9, want: fetch.Range{Offset: 4, Length: 2}, got: fetch.Meta{Size: 2, Range: fetch.Range{Offset: 4, Length: 2}, Total: 9}},
		"a part over the end":     {size: 9, want: fetch.Range{Offset: 4, Length: 20}, got: fetch.Meta{Size: 5, Range: fetch.Range{Offset: 4, Length: 20}, Total: 9}},
		"nothing, at the end":     {size: 9, want: fetch.Range{Offset: 9}, got: fetch.Meta{Size: 0, Range: fetch.Range{Offset: 9}, Total: 9}},
		"after the end":           {size: 9, want: fetch.Range{Offset: 10}, code: fetch.ErrRange},
		"after the end, changed":  {size: 9, want: fetch.Range{Offset: 10}, known: fetch.Validator{ETag: `"b"`}, got: fetch.Meta{Size: 9}},
		"a part of unknown size":  {size: -1, want: fetch.Range{Offset: 4, Length: 2}, got: fetch.Meta{Size: -1, Range: fetch.Range{Offset: 4, Length: 2}}},
		"all that is empty":       {size: 0, want: fetch.Range{Length: 5}},
		"what counts from behind": {size: 9, want: fetch.Range{Offset: -4}, got: fetch.Meta{Size: 9}},
	} {
		req := &fetch.Request{Range: tt.want, IfChanged: tt.known}
		meta := fetch.Meta{Size: tt.size, Validator: now}
		same := Same(tt.known, now)
		err := NotModified(req, same)
		if err == nil {
			err = SelectPart(req, &meta, same)
		}
		if fetch.CodeOf(err) != tt.code || err == nil && (meta.Size != tt.got.Size || meta.Range != tt.got.Range || meta.Total != tt.got.Total) {
			t.Errorf("%s: %d bytes, %+v of %d, %v; want %d, %+v of %d, class %q", name, meta.Size, meta.Range, meta.Total, err,
				tt.got.Size, tt.got.Range, tt.got.Total, tt.code)
		}
	}
}

func TestPathsAndMembers(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"x-f://h":           "x-f://h/",
		"x-f://h/":          "x-f://h/",
		"x-f://u@h:1/a":     "x-f://u@h:1/a/",
		"x-f://h/a/b//":     "x-f://h/a/b/",
		"x-f://h/a%20b?c/d": "x-f://h/a%20b%3Fc/d/",
	} {
		p, _ := PathOf(uri.MustParse(rawURL))
		if got := p.Directory(); got != want {
			t.Errorf("%s is the directory %s, want %s", rawURL, got, want)
		}
		if got, want := Member(p.Directory(), "x/?", true).String(), want+"x%2F%3F/"; got != want {
			t.Errorf("a member of %s is %s, want %s", rawURL, got, want)
		}
	}
	for name, want := range map[string]bool{"a": true, "": false, "a/b": false, "a\x00": false, "..": true} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}
