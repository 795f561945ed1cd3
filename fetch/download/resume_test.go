package download_test

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// TestOverlap resumes files that other tools left under the final name.
func TestOverlap(t *testing.T) {
	t.Parallel()
	const overlap = 64 << 10
	content, other := pattern(300_000, 1), pattern(300_000, 2)
	changed := func(l *liar) { l.content, l.valid.ETag = other, `"2"` }
	damaged := slices.Clone(content[:200_000])
	damaged[10]++
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	type files = map[string]string
	record := func(s string) string { return `{"version":1,"url":"` + liarURL + `","size":300000` + s + `}` }
	const beginning = "0+65536"
	from := func(n int) string { return fmt.Sprintf("%d+0", n-overlap) }
	tests := []struct {
		name     string
		there    []byte
		files    files // other files in the directory
		script   []reply
		runs     int // 0 means 1; all except the last end with stop
		checksum string
		want     files // all files at the end; nil means only the content
		outcome  download.Outcome
		err      fetch.Code
		requests []string
		proofs   []string
	}{
		{name: "beginning", there: content[:200_000], requests: []string{from(200_000)}, proofs: []string{"the last 65536 bytes match"}},
		{name: "small beginning", there: content[:overlap], requests: []string{"all"}, proofs: []string{"all bytes match"}},
		{name: "nothing", there: []byte{}, requests: []string{"all"}},
		{name: "complete", there: content, outcome: download.Unchanged, requests: []string{from(300_000)},
			proofs: []string{"the size and the last 65536 bytes match"}},
		{name: "complete, size unknown", there: content, script: []reply{{unsized: true}}, outcome: download.Unchanged, requests: []string{from(300_000), "300000+0 if"},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "complete, ranges ignored", there: content, script: []reply{{noRange: true}}, outcome: download.Unchanged, requests: []string{from(300_000)},
			proofs: []string{"the size and all bytes match"}},
		{name: "something else", there: other[:200_000], want: files{"file.bin": string(other[:200_000])}, err: fetch.ErrChanged, requests: []string{beginning}},
		{name: "another beginning", there: damaged, want: files{"file.bin": string(damaged)}, err: fetch.ErrChanged, requests: []string{beginning}},
		{name: "another end", there: append(slices.Clone(content[:100_000]), other[:100_000]...), want: files{"file.bin": string(content[:100_000]) + string(other[:100_000])},
			err: fetch.ErrChanged, requests: []string{from(200_000)}},
		{name: "cut in the beginning", there: content[:200_000], script: []reply{{cut: 10}}, requests: []string{beginning, beginning, from(200_000)},
			proofs: []string{"the first 65536 and the last 65536 bytes match"}},
		{name: "something else, ranges ignored", there: other[:200_000], script: []reply{{noRange: true}}, want: files{"file.bin": string(other[:200_000])},
			err: fetch.ErrChanged, requests: []string{beginning}},
		{name: "a bit longer", there: append(slices.Clone(content), 'x'), want: files{"file.bin": string(content) + "x"}, err: fetch.ErrChanged,
			requests: []string{from(300_001)}},
		{name: "a bit longer, size unknown", there: append(slices.Clone(content), 'x'), script: []reply{{unsized: true}}, want: files{"file.bin": string(content) + "x"},
			err: fetch.ErrChanged, requests: []string{from(300_001)}},
		{name: "much longer", there: append(slices.Clone(content), other...), want: files{"file.bin": string(content) + string(other)}, err: fetch.ErrChanged,
			requests: []string{from(600_000), "all"}},
		{name: "all ranges ignored", there: content[:200_000], script: []reply{{noRange: true}}, requests: []string{beginning},
			proofs: []string{"all bytes match"}},
		{name: "ranges ignored", there: content[:200_000], script: []reply{{noRange: true}}, requests: []string{from(200_000)},
			proofs: []string{"all bytes match"}},
		{name: "wrong offset", there: content[:200_000], script: []reply{{shift: 1}}, requests: []string{from(200_000), "all"},
			proofs: []string{"all bytes match"}},
		{name: "no validator", there: content[:200_000], script: []reply{{bare: true}}, requests: []string{from(200_000)},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "cut in the overlap", there: content[:200_000], script: []reply{{cut: 10}}, requests: []string{from(200_000), from(200_000) + " if"},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "cut behind the overlap", there: content[:200_000], script: []reply{{cut: overlap + 10}}, requests: []string{from(200_000), "200010+0 if"},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "cut, no validator", there: content[:200_000], script: []reply{{cut: overlap + 10, bare: true}, {bare: true}}, requests: []string{from(200_000), from(200_010)},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "cut, then ranges ignored", there: content[:200_000], script: []reply{{cut: overlap + 10}, {noRange: true}},
			requests: []string{from(200_000), "200010+0 if"}, proofs: []string{"the last 65536 bytes match"}},
		{name: "cut, then changed", there: content[:200_000], script: []reply{{cut: overlap + 10}, {edit: changed}}, want: files{"file.bin": string(content[:200_000])},
			err: fetch.ErrChanged, requests: []string{"134464+0", "200010+0 if"}, proofs: []string{"the last 65536 bytes match"}},
		{name: "more than announced", there: content[:200_000], script: []reply{{noRange: true, size: -1}},
			requests: []string{from(200_000), "all"}, proofs: []string{"all bytes match"}},

		{name: "continued later", there: content[:200_000], script: []reply{{cut: overlap + 10}, {err: stop}}, runs: 2,
			requests: []string{from(200_000), "200010+0 if", "200010+0 if"}, proofs: []string{"the last 65536 bytes match", "the validator matches"}},
		{name: "continued later, no validator", there: content[:200_000], script: []reply{{cut: overlap + 10, bare: true}, {err: stop}}, runs: 2,
			requests: []string{from(200_000), from(200_010), beginning, from(200_010)},
			proofs:   []string{"the last 65536 bytes match", "the first 65536 and the last 65536 bytes match"}},
		{name: "continued later, no validator, changed", there: content[:200_000],
			script: []reply{{cut: overlap + 10, bare: true}, {err: stop}, {edit: changed}}, runs: 2, want: files{"file.bin": string(other)},
			requests: []string{from(200_000), from(200_010), beginning, "all"}, proofs: []string{"the last 65536 bytes match"}},

		{name: "checksum", there: content[:200_000], checksum: sum, requests: []string{from(200_000)}, proofs: []string{"the last 65536 bytes match"}},
		{name: "checksum of a complete file", there: content, checksum: sum, outcome: download.Unchanged, requests: []string{from(300_000)},
			proofs: []string{"the size and the last 65536 bytes match"}},
		{name: "checksum, damaged before the overlap", there: damaged, checksum: sum, want: files{"file.bin": string(damaged)}, err: fetch.ErrChecksum,
			requests: []string{from(200_000)}, proofs: []string{"the last 65536 bytes match"}},

		{name: "suggested name", there: content[:200_000], files: files{"x.bin": string(content[:100_000])}, script: []reply{{suggest: "x.bin"}, {suggest: "x.bin"}, {suggest: "x.bin"}},
			want:     files{"file.bin": string(content[:200_000]), "x.bin": string(content)},
			requests: []string{from(200_000), "all", from(100_000) + " if"}, proofs: []string{"the last 65536 bytes match"}},
		{name: "suggested name is free", there: content[:200_000], script: []reply{{suggest: "x.bin"}, {suggest: "x.bin"}},
			want: files{"file.bin": string(content[:200_000]), "x.bin": string(content)}, requests: []string{from(200_000), "all"}},
		{name: "an old part without a record", there: content[:200_000], files: files{"file.bin.part": "old"}, requests: []string{from(200_000)},
			proofs: []string{"the last 65536 bytes match"}},
		{name: "a part beside its beginning", there: content[:5], files: files{"file.bin.part": string(content[:100]), "file.bin.part.json": record(`,"etag":"\"1\""`)},
			requests: []string{"100+0 if"}, proofs: []string{"the validator matches"}},
		{name: "a part beside something else", there: other[:5], files: files{"file.bin.part": string(content[:100]), "file.bin.part.json": record(`,"etag":"\"1\""`)},
			want: files{"file.bin": string(other[:5]), "file.bin.part": string(content[:100]), "file.bin.part.json": record(`,"etag":"\"1\""`)}, err: fetch.ErrChanged},
		{name: "a part to replace something else", there: other[:5],
			files:    files{"file.bin.part": string(content[:100]), "file.bin.part.json": record(`,"etag":"\"1\"","replace":true`)},
			requests: []string{"100+0 if"}, proofs: []string{"the validator matches"}},
		{name: "a part known by its time", there: other[:5],
			files:    files{"file.bin.part": string(content[:200_000]), "file.bin.part.json": record(`,"mtime":"1994-12-01T08:00:00Z","replace":true`)},
			requests: []string{from(200_000) + " if"}, proofs: []string{"the last 65536 bytes match"}},
		{name: "a part of something else of the same time", there: other[:5],
			files:    files{"file.bin.part": string(other[:200_000]), "file.bin.part.json": record(`,"mtime":"1994-12-01T08:00:00Z","replace":true`)},
			requests: []string{from(200_000) + " if", "all", "all"}},
		{name: "a part of another time", there: other[:5],
			files:    files{"file.bin.part": string(content[:200_000]), "file.bin.part.json": record(`,"mtime":"1994-12-01T07:00:00Z","replace":true`)},
			requests: []string{from(200_000) + " if", "all"}},
		{name: "a record that a kill left", there: content, outcome: download.Unchanged, files: files{"file.bin.part.json": record(`,"etag":"\"1\""`)},
			want: files{"file.bin": string(content)}, requests: []string{from(300_000)}, proofs: []string{"the size and the last 65536 bytes match"}},
		{name: "a part of something else beside", there: content[:200_000],
			files:    files{"file.bin.part": string(other[:100]), "file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`},
			requests: []string{from(200_000)}, proofs: []string{"the last 65536 bytes match"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before := maps.Clone(tt.files)
			if before == nil {
				before = files{}
			}
			before["file.bin"] = string(tt.there)
			for name, data := range before {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, tt.script...)
				if len(tt.there) > overlap && tt.checksum == "" && len(tt.requests) > 0 && tt.requests[0] != beginning {
					// The beginning is compared first, with success.
					l.script = append([]reply{{}}, l.script...)
					tt.requests = append([]string{beginning}, tt.requests...)
					tt.proofs = slices.Clone(tt.proofs)
					if len(tt.proofs) > 0 && tt.files["x.bin"] == "" {
						tt.proofs[0] = strings.Replace(tt.proofs[0], "the last 65536", "the first 65536 and the last 65536", 1)
					}
				}
				d := l.downloader(t, dir)
				var proofs []string
				opts := &download.Options{Exists: download.Resume, Checksum: tt.checksum, Reuse: func(s string) { proofs = append(proofs, s) }}
				for range tt.runs - 1 {
					if _, err := d.Get(t.Context(), liarURL, "", opts); !errors.Is(err, fetch.ErrAuth) {
						t.Fatal(err)
					}
				}
				r, err := d.Get(t.Context(), liarURL, "", opts)
				if fetch.CodeOf(err) != tt.err {
					t.Error(err)
				}
				if err == nil && r.Outcome != cmp.Or(tt.outcome, download.Saved) {
					t.Errorf("outcome %v", r.Outcome)
				}
				want := tt.want
				if want == nil {
					want = files{"file.bin": string(content)}
				}
				if have := contents(t, dir); !maps.Equal(have, want) {
					t.Errorf("files %q, want %q, or contents wrong", names(have), names(want))
				}
				if got := l.requests(); !slices.Equal(got, tt.requests) {
					t.Errorf("requests %q, want %q", got, tt.requests)
				}
				if !slices.Equal(proofs, tt.proofs) {
					t.Errorf("proofs %q, want %q", proofs, tt.proofs)
				}
				if err != nil && tt.checksum == "" && tt.err == fetch.ErrChanged {
					var e *fetch.Error
					if !errors.As(err, &e) || e.Reason != (fetch.Reason{Kind: fetch.ReasonNotBeginning, File: "file.bin"}) ||
						!strings.Contains(err.Error(), "file.bin is not the beginning of "+liarURL) {
						t.Errorf("error %#v", err)
					}
				}
			})
		})
	}
}
