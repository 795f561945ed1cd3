package download_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/retry"
)

// TestSegments retrieves a resource in several ranges from different servers. The order of requests
// is undefined, so they are compared sorted.
func TestSegments(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20+7, 1)
	changed := pattern(4<<20+7, 2)
	first := []string{"1048577+1048578 if", "2097155+1048578 if", "3145733+1048578 if", "all"}
	refused, malformed := &fetch.Error{Code: fetch.ErrRefused}, &fetch.Error{Code: fetch.ErrProtocol}
	page := reply{whole: []byte("<html>"), mediaType: "text/html"}
	busy := reply{err: &fetch.Error{Code: fetch.ErrBusy}}
	tests := []struct {
		name     string
		script   []reply
		want     []byte
		err      fetch.Code
		requests []string // nil if undefined
		sum      bool
	}{
		{name: "plain", want: content, requests: first},
		{name: "with a digest", want: content, requests: first, sum: true},
		{name: "one range only", script: []reply{{}, busy, busy, busy}, want: content},
		{name: "cut", script: []reply{{}, {cut: 1000}, {cut: 1000}, {cut: 1000}}, want: content,
			requests: []string{"1048577+1048578 if", "1049577+1047578 if", "2097155+1048578 if", "2098155+1047578 if", "3145733+1048578 if", "3146733+1047578 if", "all"}},
		{name: "first cut", script: []reply{{cut: 1000}}, want: content, requests: append([]string{"1000+1047577 if"}, first...)},
		{name: "ranges ignored", script: []reply{{}, {noRange: true}, {noRange: true}, {noRange: true}}, want: content},
		{name: "changed meanwhile", script: []reply{{}, {edit: func(l *liar) { l.content, l.valid.ETag = changed, `"2"` }}}, want: content},
		{name: "changed, condition ignored", script: []reply{{}, {edit: func(l *liar) { l.content, l.valid.ETag = changed, `"2"` }, blind: true}, {blind: true}, {blind: true}}, want: content},
		{name: "wrong offset", script: []reply{{}, {shift: 5}}, want: content},
		{name: "no validator", script: []reply{{bare: true}}, want: content, requests: []string{"all"}},
		{name: "no size", script: []reply{{unsized: true}}, want: content, requests: []string{"all"}},
		{name: "one error too many", script: append([]reply{{}}, slices.Repeat([]reply{{err: &fetch.Error{Code: fetch.ErrTLS, Retry: true}}}, 15)...), want: content},
		{name: "final error", script: []reply{{}, {err: &fetch.Error{Code: fetch.ErrAuth}}}, want: content},
		{name: "all ranges refused", script: []reply{{}, {err: refused}, {err: refused}, {err: refused}}, want: content, requests: first},
		{name: "first cut, then refused", script: []reply{{cut: 1000}, {err: refused}, {err: refused}, {err: refused}, {err: refused}}, want: content},
		{name: "ranges malformed", script: []reply{{}, {err: malformed}, {err: malformed}, {err: malformed}}, want: content, requests: first},
		{name: "first cut, then malformed", script: []reply{{cut: 1000}, {err: malformed}, {err: malformed}, {err: malformed}, {err: malformed}}, want: content},
		{name: "a page instead of a range", script: []reply{{}, page, page, page}, want: content, requests: first},
		{name: "a page instead of anything else", script: append([]reply{{cut: 1000}}, slices.Repeat([]reply{page}, 20)...), err: fetch.ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, tt.script...)
				l.wait = synctest.Wait // until the other workers have ended, or wait
				var last, most int64
				r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Segments: 4, SHA256: tt.sum,
					Progress: func(done, total int64) { last, most = done, max(most, done) }})
				if fetch.CodeOf(err) != tt.err {
					t.Fatal(err)
				}
				got := l.requests()
				slices.Sort(got)
				if tt.requests != nil && !slices.Equal(got, tt.requests) {
					t.Errorf("requests %q, want %q", got, tt.requests)
				}
				if err != nil {
					return
				}
				if have := contents(t, dir); len(have) != 1 || have["file.bin"] != string(tt.want) {
					t.Fatalf("files %q, or content wrong", names(have))
				}
				if size := int64(len(tt.want)); r.Size != size || last != size || most != size || tt.sum != (r.SHA256 != "") {
					t.Errorf("result %+v, progress to %d, at most %d", r, last, most)
				}
			})
		})
	}
}

// A failed transfer in segments is resumed with its missing ranges, in segments or as one stream. A
// failed single stream can be resumed in segments.
func TestSegmentsResume(t *testing.T) {
	t.Parallel()
	content := pattern(8<<20, 1)
	for _, tt := range []struct{ before, after int }{{4, 4}, {4, 1}, {1, 4}} {
		t.Run(fmt.Sprint(tt.before, " then ", tt.after), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := newLiar(content, reply{cut: 1 << 20}, reply{cut: 1 << 20}, reply{cut: 1 << 20}, reply{cut: 1 << 20})
			d := l.downloader(t, dir)
			opts := &download.Options{Exists: download.Resume, Segments: tt.before, Retry: retry.Policy{Tries: 1}}
			if _, err := d.Get(t.Context(), liarURL, "", opts); !errors.Is(err, fetch.ErrTruncated) {
				t.Fatal(err)
			}
			had := contents(t, dir)["file.bin.part.json"]
			if tt.before > 1 && !strings.Contains(had, `"missing":[[`) {
				t.Fatalf("record %s", had)
			}
			l.script = nil
			r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Segments: tt.after, SHA256: true})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"file.bin": string(content)}
			if have := contents(t, dir); !maps.Equal(have, want) {
				t.Fatalf("files %q, or content wrong", names(have))
			}
			if r.Written >= r.Size || r.Size != int64(len(content)) {
				t.Errorf("%d of %d bytes came again", r.Written, r.Size)
			}
		})
	}
}

// The content is complete only if the response with its last byte ends as it should, whether that is the
// first response, a range, or the whole resource after the ranges failed. Nothing is saved before.
func TestSegmentsEndIsConfirmed(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20+7, 1)
	busy := &fetch.Error{Code: fetch.ErrBusy}
	malformed := &fetch.Error{Code: fetch.ErrProtocol}
	for name, tt := range map[string]struct {
		first, ranges reply
	}{
		"of the first response":         {ranges: reply{err: busy}},
		"of the last range":             {first: reply{cut: 1000}},
		"of the whole after the ranges": {first: reply{cut: 1000}, ranges: reply{err: malformed}},
	} {
		for _, tail := range []*fetch.Error{
			{Code: fetch.ErrTruncated, Retry: true}, {Code: fetch.ErrChanged, Retry: true}, {Code: fetch.ErrServer},
			{Code: fetch.ErrProtocol, Retry: true},
		} {
			for _, always := range []bool{true, false} {
				t.Run(fmt.Sprint(name, " ", tail.Code, " always ", always), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) {
						l := newLiar(content)
						n, failed := 0, 0
						l.reply = func(req *fetch.Request) reply {
							r := tt.ranges
							if n++; n == 1 {
								r = tt.first
							} else if req.Range.IsZero() {
								r = reply{}
							}
							if reachesEnd := req.Range.IsZero() || req.Range.Offset+req.Range.Length == int64(len(content)); reachesEnd &&
								r.err == nil && r.cut == 0 && (always || failed == 0) {
								failed++
								r.tail = tail
							}
							return r
						}
						l.wait = synctest.Wait
						_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Segments: 4, Retry: retry.Policy{Tries: 3}})
						have := contents(t, dir)
						saved, ok := have["file.bin"]
						switch {
						case err == nil && (always || saved != string(content)), err != nil && ok:
							t.Errorf("%v, and files %q", err, names(have))
						case err != nil && always && fetch.CodeOf(err) != tail.Code && !errors.Is(err, fetch.ErrBusy):
							t.Errorf("%v, want %v", err, tail.Code)
						case len(l.requests()) > 20:
							t.Errorf("%d requests", len(l.requests()))
						}
					})
				})
			}
		}
	}
}

// If the end of the last range shows that the server ignores offsets, no byte of a range is used, also
// not of those in a partial file.
func TestSegmentsWithIgnoredOffsets(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	for name, record := range map[string]string{
		"from the beginning": "",
		"resumed":            fmt.Sprintf(`{"version":1,"url":%q,"etag":"\"1\"","size":%d,"missing":[[1000,1048576],[2097152,4194304]]}`, liarURL, len(content)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content)
				l.ignores, l.wait = true, synctest.Wait
				d := l.downloader(t, dir)
				if record != "" {
					wrong := append(slices.Clone(content[:1<<20]), content[:1<<20]...)
					if err := errors.Join(d.Root.WriteFile("file.bin.part", wrong, 0o600), d.Root.WriteFile("file.bin.part.json", []byte(record), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
				r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Segments: 4, SHA256: true})
				if err != nil {
					t.Fatal(err)
				}
				if have := contents(t, dir); len(have) != 1 || have["file.bin"] != string(content) || r.Size != int64(len(content)) {
					t.Errorf("%+v, files %q, or content wrong", r, names(have))
				}
			})
		})
	}
}

// A partial file is resumed even if the later segments have not begun and the file is short.
func TestSegmentsResumeEarly(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	dir := t.TempDir()
	l := newLiar(content)
	d := l.downloader(t, dir)
	record := fmt.Sprintf(`{"version":1,"url":%q,"etag":"\"1\"","size":%d,"missing":[[1000,1048576],[1048576,2097152],[2097152,4194304]]}`, liarURL, len(content))
	if err := errors.Join(d.Root.WriteFile("file.bin.part", content[:1500], 0o600), d.Root.WriteFile("file.bin.part.json", []byte(record), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume})
	if err != nil || r.Written != int64(len(content)-1000) {
		t.Errorf("%+v, %v", r, err)
	}
	if have := contents(t, dir); len(have) != 1 || have["file.bin"] != string(content) {
		t.Errorf("files %q, or content wrong", names(have))
	}
}

// A partial file in segments is resumed even if only the server knows its name.
func TestSegmentsResumeUnderSuggestedName(t *testing.T) {
	t.Parallel()
	content := pattern(8<<20, 1)
	dir := t.TempDir()
	l := newLiar(content, reply{cut: 1 << 20, suggest: "x.bin"}, reply{cut: 1 << 20}, reply{cut: 1 << 20}, reply{cut: 1 << 20})
	d := l.downloader(t, dir)
	if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Segments: 4, Retry: retry.Policy{Tries: 1}}); !errors.Is(err, fetch.ErrTruncated) {
		t.Fatal(err)
	}
	if have := contents(t, dir); have["x.bin.part"] == "" {
		t.Fatalf("files %q", names(have))
	}
	l.script = []reply{{suggest: "x.bin"}}
	r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume})
	if err != nil {
		t.Fatal(err)
	}
	if have := contents(t, dir); r.Name != "x.bin" || len(have) != 1 || have["x.bin"] != string(content) {
		t.Fatalf("%s, files %q, or content wrong", r.Name, names(have))
	}
}

func TestPartial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"whole.part": "12345", "holes.part": "12345678", "empty.part": "",
		"holes.part.json": `{"version":1,"url":"http://h/","size":10,"missing":[[2,6],[8,10]]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("whole.part", filepath.Join(dir, "link.part")); err != nil {
		t.Skip(err)
	}
	d := newLiar(nil).downloader(t, dir)
	for name, want := range map[string]int64{"whole": 5, "./holes": 4, "empty": 0, "missing": 0, "no/dir": 0, "link": 0} {
		if got, written := d.Partial(name); got != want || written.IsZero() != (want == 0) {
			t.Errorf("%s: %d bytes at %v, want %d", name, got, written, want)
		}
	}
	for _, name := range []string{"holes", "./whole", "missing", "no/dir"} {
		if err := d.Discard(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "[hw]*")); err != nil || names != nil {
		t.Errorf("after Discard there are %v, %v", names, err)
	}
}

// A failure of the file ends all segments, even if they are blocked.
func TestSegmentsEndTogether(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	failed := errors.New("failed")
	l := newLiar(content)
	stalling := func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-liar", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				resp, err := l.Open(ctx, req)
				if err == nil {
					resp.Body = io.NopCloser(io.MultiReader(io.LimitReader(resp.Body, 10), waiter{ctx}))
				}
				return resp, err
			})})
	}
	d := l.downloader(t, t.TempDir())
	d.Client = fetch.New(nil, stalling)
	if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Segments: 4, Response: func(resp *fetch.Response) error {
		if resp.Range.Offset > 3<<19 {
			return failed
		}
		return nil
	}}); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// A worker whose segment the first response has provided ends, although the server has not responded.
func TestSegmentsThatHang(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	l := newLiar(content)
	d := l.downloader(t, t.TempDir())
	d.Client = fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-liar", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				if !req.Range.IsZero() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return l.Open(ctx, req)
			})})
	})
	if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Segments: 4}); err != nil {
		t.Error(err)
	}
}

// A complete segment releases its connection to the others.
func TestSegmentsShareOneConnection(t *testing.T) {
	t.Parallel()
	content := pattern(4<<20, 1)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := newLiar(content)
		d := l.downloader(t, dir)
		d.Client = fetch.New(&fetch.Options{Middleware: []fetch.Middleware{middleware.PerHost(1)}}, l.load)
		if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Segments: 4}); err != nil {
			t.Fatal(err)
		}
		if have := contents(t, dir); have["file.bin"] != string(content) {
			t.Errorf("files %q, or content wrong", names(have))
		}
	})
}

// A waiter is a reader that blocks until its context ends.
type waiter struct{ ctx context.Context }

func (w waiter) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, context.Cause(w.ctx)
}
