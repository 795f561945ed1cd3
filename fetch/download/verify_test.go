package download_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func sha256Of(content []byte) fetch.Digest {
	sum := sha256.Sum256(content)
	return fetch.Digest{Algorithm: "sha-256", Sum: sum[:], By: "test"}
}

func md5Of(content []byte) fetch.Digest {
	sum := md5.Sum(content)
	return fetch.Digest{Algorithm: "md5", Sum: sum[:], By: "test"}
}

// TestStatedDigests has a server that states a digest which is right or wrong, for each way in which
// a file is assembled.
func TestStatedDigests(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20+7, 1)
	right, wrong := sha256Of(content), sha256Of(nil)
	tests := []struct {
		name    string
		there   []byte // file.bin before
		script  []reply
		runs    int
		opts    download.Options
		keeps   bool // the existing file is kept after a wrong digest
		outcome download.Outcome
	}{
		{name: "one response"},
		{name: "one response of unknown size", script: []reply{{unsized: true}}},
		{name: "with SHA256", opts: download.Options{SHA256: true}},
		{name: "resumed", script: []reply{{cut: 1000}, {cut: 1_100_000}}},
		{name: "resumed, stated first", script: []reply{{cut: 1000}, {silent: true}}},
		{name: "resumed, stated last", script: []reply{{cut: 1000, silent: true}}},
		{name: "resumed in another run", script: []reply{{cut: 1000}, {err: stop}}, runs: 2},
		{name: "resumed in another run, stated first", script: []reply{{cut: 1000}, {err: stop}, {silent: true}}, runs: 2},
		{name: "resumed in another run, stated last", script: []reply{{cut: 1000, silent: true}, {err: stop}}, runs: 2},
		{name: "segments", opts: download.Options{Segments: 4}},
		{name: "segments, stated first", opts: download.Options{Segments: 4}, script: []reply{{}, {silent: true}, {silent: true}, {silent: true}}},
		{name: "segments, stated last", opts: download.Options{Segments: 4}, script: []reply{{silent: true}}},
		{name: "an existing file", there: content[:2<<20], opts: download.Options{Exists: download.Resume}, keeps: true},
		{name: "a complete existing file", there: content, opts: download.Options{Exists: download.Resume}, keeps: true, outcome: download.Unchanged},
	}
	for _, tt := range tests {
		for _, stated := range []fetch.Digest{right, wrong} {
			dir := t.TempDir()
			if tt.there != nil {
				if err := os.WriteFile(filepath.Join(dir, "file.bin"), tt.there, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, slices.Clone(tt.script)...)
				l.stated = []fetch.Digest{stated}
				l.wait = synctest.Wait // the ranges come first
				d := l.downloader(t, dir)
				opts := tt.opts
				for range tt.runs - 1 {
					if _, err := d.Get(t.Context(), liarURL, "", &opts); fetch.CodeOf(err) != fetch.ErrAuth {
						t.Fatalf("%s: %v", tt.name, err)
					}
					opts.Exists = download.Resume
				}
				r, err := d.Get(t.Context(), liarURL, "", &opts)
				have := contents(t, dir)
				if stated.String() == wrong.String() {
					left := map[string]string{}
					if tt.keeps {
						left["file.bin"] = string(tt.there)
					}
					if fetch.CodeOf(err) != fetch.ErrChecksum || len(have) != len(left) || have["file.bin"] != left["file.bin"] {
						t.Errorf("%s: wrong digest: %v, files %q", tt.name, err, names(have))
					}
					return
				}
				if err != nil || len(have) != 1 || have["file.bin"] != string(content) {
					t.Errorf("%s: %v, files %q", tt.name, err, names(have))
					return
				}
				if tt.outcome == "" && (r.Proof == nil || r.Proof.String() != right.String() || r.Proof.By != "test") {
					t.Errorf("%s: proof %v", tt.name, r.Proof)
				}
			})
		}
	}
}

func TestStatedDigestsOfCopy(t *testing.T) {
	t.Parallel()
	content := pattern(100_000, 1)
	for _, script := range [][]reply{{}, {{cut: 1000}}, {{cut: 1000}, {noRange: true}}} {
		for stated, want := range map[string]fetch.Code{string(content): "", "": fetch.ErrChecksum} {
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, slices.Clone(script)...)
				l.stated = []fetch.Digest{md5Of([]byte(stated))}
				var got bytes.Buffer
				_, err := l.downloader(t, t.TempDir()).Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, &got, nil)
				if fetch.CodeOf(err) != want || want == "" && !bytes.Equal(got.Bytes(), content) {
					t.Errorf("%d replies: %v, %d bytes", len(script), err, got.Len())
				}
			})
		}
	}
}

// Two digests of one algorithm that differ are an error. If they are in two responses, the bytes are kept.
func TestContradictingDigests(t *testing.T) {
	t.Parallel()
	content := pattern(100_000, 1)
	right, wrong := sha256Of(content), sha256Of(nil)
	for name, l := range map[string]*liar{
		"in one response":  {stated: []fetch.Digest{right, md5Of(content), wrong}},
		"in two responses": {stated: []fetch.Digest{right}, script: []reply{{cut: 1000}, {edit: func(l *liar) { l.stated = []fetch.Digest{wrong} }}}},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			l.content, l.valid = content, newLiar(nil).valid
			_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil)
			want, kept := fetch.ErrChecksum, 0
			if name == "in two responses" {
				want, kept = fetch.ErrTruncated, 1000
			}
			if have := contents(t, dir); fetch.CodeOf(err) != want || len(have["file.bin.part"]) != kept || have["file.bin"] != "" {
				t.Errorf("%s: %v, files %q", name, err, names(have))
			}
		})
	}
}

// A digest of each response covers that part only.
func TestDigestsOfParts(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	part := sha256Of(content[1000:])
	part.Covers = fetch.CoversBody
	for name, tt := range map[string]struct {
		stated fetch.Digest
		want   fetch.Code
	}{
		"right": {part, ""},
		"wrong": {fetch.Digest{Algorithm: "sha-256", Sum: make([]byte, 32), By: "test", Covers: fetch.CoversBody}, fetch.ErrChecksum},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			l := newLiar(content, reply{cut: 1000, silent: true})
			l.stated = []fetch.Digest{tt.stated}
			r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil)
			if have := contents(t, dir); fetch.CodeOf(err) != tt.want || err == nil && r.Proof != nil || err != nil && len(have) > 0 {
				t.Errorf("%s: %v, files %q", name, err, names(have))
			}
		})
	}
}

func TestProofOfChecksum(t *testing.T) {
	t.Parallel()
	content := pattern(1000, 1)
	l := newLiar(content)
	l.stated = []fetch.Digest{md5Of(content)}
	r, err := l.downloader(t, t.TempDir()).Get(t.Context(), liarURL, "", &download.Options{Checksum: "sha256:" + sha256Of(content).String()[len("sha-256:"):]})
	if err != nil || r.Proof == nil || r.Proof.By != "checksum" || r.Proof.Algorithm != "sha-256" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestResumeWithOtherValidators resumes from servers whose validators differ although the content is
// the same, or is not.
func TestResumeWithOtherValidators(t *testing.T) {
	t.Parallel()
	const size, done = 3 << 20, 1 << 20
	content := pattern(size, 1)
	inside := slices.Clone(content) // differs where nothing is compared
	inside[done/2]++
	begin := slices.Clone(content)
	begin[0]++
	end := slices.Clone(content)
	end[done-1]++
	set := func(v fetch.Validator, content []byte, stated ...fetch.Digest) func(*liar) {
		return func(l *liar) { l.valid, l.content, l.stated = v, content, stated }
	}
	a, b := fetch.Validator{ETag: `"a"`, ModTime: morning}, fetch.Validator{ETag: `"b"`, ModTime: morning}
	weak := fetch.Validator{ETag: `W/"a"`}
	resumed, whole := []string{"0+65536", "983040+0"}, []string{"all"}
	tests := []struct {
		name   string
		before fetch.Validator
		stated []fetch.Digest // before
		edit   func(*liar)
		refuse bool // the driver refuses the response, as HTTP does with a range of another tag
		first  bool // the resumed request has a condition, which does not hold
		want   []string
		code   fetch.Code
	}{
		{name: "another tag", before: a, edit: set(b, content), first: true, want: resumed},
		{name: "another tag, another beginning", before: a, edit: set(b, begin), first: true, want: []string{"0+65536", "all"}},
		{name: "another tag, another end", before: a, edit: set(b, end), first: true, want: []string{"0+65536", "983040+0", "all"}},
		{name: "another tag and time", before: a, edit: set(fetch.Validator{ETag: `"b"`, ModTime: morning.AddDate(0, 0, 1)}, content), first: true},
		{name: "another tag and size", before: a, edit: set(b, content[:size-1]), first: true},
		{name: "another tag, no times", before: fetch.Validator{ETag: `"a"`}, edit: set(fetch.Validator{ETag: `"b"`}, content), first: true},
		{name: "another tag and time, a digest", before: a, edit: set(fetch.Validator{ETag: `"b"`}, content, sha256Of(content)), first: true, want: resumed},
		{name: "another tag, the same digest", before: a, stated: []fetch.Digest{sha256Of(content)}, edit: set(fetch.Validator{ETag: `"b"`}, content, sha256Of(content)),
			first: true, want: resumed},
		{name: "another tag and digest", before: a, stated: []fetch.Digest{sha256Of(content)}, edit: set(b, inside, sha256Of(inside)), first: true},
		{name: "another tag, a digest shows a difference inside", before: a, edit: set(b, inside, sha256Of(inside)), first: true, want: append(slices.Clone(resumed), whole...)},
		{name: "another tag, a wrong digest", before: a, edit: set(b, content, sha256Of(nil)), first: true, want: append(slices.Clone(resumed), whole...), code: fetch.ErrChecksum},
		{name: "a range of another tag", before: a, edit: set(b, content), refuse: true, first: true, want: resumed},
		{name: "a range of another tag and time", before: a, edit: set(fetch.Validator{ETag: `"b"`, ModTime: morning.AddDate(0, 0, 1)}, content), refuse: true, first: true,
			want: []string{"0+65536", "all"}},
		{name: "another weak tag", before: weak, edit: set(fetch.Validator{ETag: `W/"b"`}, content), want: []string{"0+65536", "all"}},
		{name: "the same weak tag", before: weak, edit: set(weak, content), want: resumed},
		{name: "the same weak tag, another end", before: weak, edit: set(weak, end), want: []string{"0+65536", "983040+0", "all"}},
		{name: "no validator, a digest", stated: []fetch.Digest{sha256Of(content)}, edit: set(fetch.Validator{}, content, sha256Of(content)), want: resumed},
	}
	for _, tt := range tests {
		for _, later := range []bool{false, true} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				script := []reply{{cut: done}, {edit: tt.edit}}
				if tt.refuse {
					script[1].err = &fetch.Error{Code: fetch.ErrChanged}
				}
				if later {
					script = slices.Insert(script, 1, reply{err: stop})
				}
				l := newLiar(content, script...)
				l.valid, l.stated = tt.before, tt.stated
				d := l.downloader(t, dir)
				opts := download.Options{}
				if later {
					if _, err := d.Get(t.Context(), liarURL, "", &opts); fetch.CodeOf(err) != fetch.ErrAuth {
						t.Fatalf("%s: %v", tt.name, err)
					}
					l.received, opts.Exists = nil, download.Resume
				}
				_, err := d.Get(t.Context(), liarURL, "", &opts)
				if fetch.CodeOf(err) != tt.code {
					t.Errorf("%s: %v, want code %q", tt.name, err, tt.code)
				}
				have := contents(t, dir)
				if err == nil && (len(have) != 1 || have["file.bin"] != string(l.content)) || err != nil && len(have) > 0 {
					t.Errorf("%s: files %q, or content wrong", tt.name, names(have))
				}
				var want []string
				if !later {
					want = append(want, "all")
				}
				if tt.first {
					want = append(want, "1048576+0 if")
				}
				if want = append(want, tt.want...); !slices.Equal(l.requests(), want) {
					t.Errorf("%s, later %v: requests %q, want %q", tt.name, later, l.requests(), want)
				}
			})
		}
	}
}
