package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
)

// The hook gets a job for each match, with all fields of the pattern's job except those about its
// URL.
func TestMatches(t *testing.T) {
	t.Parallel()
	s := library()
	file, dir := entry("/a.txt", fetch.EntryObject), entry("/dir/", fetch.EntryListing)
	file.Size, file.ModTime = 5, day
	s.resources["/*"] = resource{entries: entries(file, dir), pattern: true}
	var got []job.Job
	pattern := &job.Job{URL: shelfURL("/*"), Header: []string{"A: 1"}, Output: "x/", Exists: download.Newer, Depth: 4, Segments: 2,
		IfChanged: fetch.Validator{ETag: "e"}}
	result := s.runner(t, t.TempDir(), nil).Run(t.Context(), pattern, &job.Hooks{Match: func(j *job.Job) error {
		got = append(got, *j)
		return nil
	}})
	if result.Outcome != job.Listed || result.Entries != 2 || len(got) != 2 {
		t.Fatalf("%+v, %+v", *result, got)
	}
	for i, j := range got {
		if j.From != pattern.URL || !slices.Equal(j.Header, pattern.Header) || j.Output != "x/" || j.Exists != download.Newer || j.Depth != 4 ||
			j.Segments != 2 || !j.IfChanged.IsZero() {
			t.Errorf("%d: %+v", i, j)
		}
	}
	if j := got[0]; j.URL != file.URL || j.Op != fetch.OpGet || *j.Known != (download.Known{Size: 5, Validator: fetch.Validator{ModTime: day}}) {
		t.Errorf("%+v, %+v", j, *j.Known)
	}
	if j := got[1]; j.URL != dir.URL || j.Op != fetch.OpList || *j.Known != (download.Known{Size: -1}) {
		t.Errorf("%+v, %+v", j, *j.Known)
	}
}

// The size and time from the listing save a request.
func TestKnownMatchesAreNotRequested(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	if err := errors.Join(os.WriteFile(name, []byte("aaaaa"), 0o600), os.Chtimes(name, day, day)); err != nil {
		t.Fatal(err)
	}
	s := library()
	file := entry("/a.txt", fetch.EntryObject)
	file.Size, file.ModTime = 5, day
	s.resources["/*"] = resource{entries: entries(file), pattern: true}
	got := s.runner(t, dir, nil).Run(t.Context(), &job.Job{URL: shelfURL("/*"), Exists: download.Newer}, nil)
	if got.Outcome != job.Listed || s.requests() != "get /*" {
		t.Errorf("%+v, asked: %s", *got, s.requests())
	}
}

func TestMatchHookEndsThePattern(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	n := 0
	got := library().runner(t, t.TempDir(), nil).Run(t.Context(), &job.Job{URL: shelfURL("/*")}, &job.Hooks{Match: func(*job.Job) error {
		n++
		return own
	}})
	if got.Outcome != job.Failed || got.Err != own || n != 1 {
		t.Errorf("%+v after %d matches", *got, n)
	}
}

// endless yields an unlimited number of matches and counts them.
func endless(yielded *int) func(func(fetch.Entry, error) bool) {
	return func(yield func(fetch.Entry, error) bool) {
		for {
			*yielded++
			if !yield(entry(fmt.Sprintf("/%d", *yielded), fetch.EntryObject), nil) {
				return
			}
		}
	}
}

// An endless listing is processed in bounded memory.
func TestEndlessPattern(t *testing.T) {
	t.Parallel()
	const bound = 20_000 // maximum number of entries in memory
	listed, matched := 0, 0
	s := library()
	s.resources["/*"] = resource{entries: endless(&listed), pattern: true}
	enough := errors.New("enough")
	got := s.runner(t, t.TempDir(), nil).Run(t.Context(), &job.Job{URL: shelfURL("/*")}, &job.Hooks{Match: func(j *job.Job) error {
		matched++
		if j.URL != shelfURL(fmt.Sprintf("/%d", matched)) {
			t.Errorf("match %d is %v", matched, j.URL)
		}
		if ahead := listed - matched; ahead > bound {
			return fmt.Errorf("%d were read ahead", ahead)
		}
		if matched == 2*bound {
			return enough
		}
		return nil
	}})
	if got.Err != enough {
		t.Errorf("%+v", *got)
	}
}

// The limit on the size of a response applies to the listing of a pattern.
func TestLimitOfAPattern(t *testing.T) {
	t.Parallel()
	listed, matched := 0, 0
	s := library()
	s.resources["/*"] = resource{entries: endless(&listed), pattern: true}
	r := s.runner(t, t.TempDir(), &fetch.Options{Policy: &fetch.Policy{MaxSize: 64 << 10}})
	got := r.Run(t.Context(), &job.Job{URL: shelfURL("/*")}, &job.Hooks{Match: func(*job.Job) error {
		matched++
		return nil
	}})
	if got.Class != fetch.ErrTooLarge || matched != 0 {
		t.Errorf("%+v after %d matches", *got, matched)
	}
}

// The matches of a truncated listing are not retrieved.
func TestTruncatedPattern(t *testing.T) {
	t.Parallel()
	s := library()
	s.resources["/*"] = resource{pattern: true, entries: func(yield func(fetch.Entry, error) bool) {
		if yield(entry("/a.txt", fetch.EntryObject), nil) {
			yield(fetch.Entry{}, &fetch.Error{Code: fetch.ErrTruncated, Retry: true})
		}
	}}
	got := s.runner(t, t.TempDir(), nil).Run(t.Context(), &job.Job{URL: shelfURL("/*")}, nil)
	if got.Class != fetch.ErrTruncated || !got.Retry || strings.Contains(s.requests(), "a.txt") {
		t.Errorf("%+v, asked: %s", *got, s.requests())
	}
}

// A listing is read to its end and closed before the first match is requested.
func TestListingIsClosedFirst(t *testing.T) {
	t.Parallel()
	open := 0
	count := func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			if open > 0 {
				t.Errorf("%v is asked for while %d others are open", req.URL, open)
			}
			resp, err := next.Open(ctx, req)
			if err == nil {
				open++
				resp.Body = fetch.OnClose(resp.Body, func() { open-- })
			}
			return resp, err
		})
	}
	r := library().runner(t, t.TempDir(), &fetch.Options{Middleware: []fetch.Middleware{count}})
	if got := r.Run(t.Context(), &job.Job{URL: shelfURL("/*")}, nil); got.Outcome != job.Listed {
		t.Errorf("%+v", *got)
	}
}
