package job_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

func library() *shelf {
	return &shelf{resources: map[string]resource{
		"/a.txt":   {text: "aaaaa", contentType: "text/plain", modTime: day},
		"/b.txt":   {text: "bb", modTime: day},
		"/page":    {text: `<a href="a.txt">a</a><a href="/b.txt">b</a>`, contentType: "text/html"},
		"/none":    {none: true},
		"/dir/":    {entries: entries(entry("/a.txt", fetch.EntryObject), entry("/dir/", fetch.EntryListing))},
		"/*":       {entries: entries(entry("/a.txt", fetch.EntryObject), entry("/dir/", fetch.EntryListing), entry("/b.txt", fetch.EntryObject)), pattern: true},
		"/~*":      {entries: entries(entry("/a.txt", fetch.EntryObject), entry("/gone", fetch.EntryObject), entry("/busy", fetch.EntryObject)), pattern: true},
		"/session": {err: &fetch.Error{Code: fetch.ErrInteractive}},
		"/busy": {err: &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: 90 * time.Second, Hint: "come back",
			Reason: fetch.Reason{Kind: fetch.ReasonProxy, Host: "host"}, Reply: fetch.Reply{Code: 503, Text: "busy"}}},
	}}
}

const sumOfA = "ed968e840d10d2d313a870bc131a4e2c311d7ad09bdf32b3418147221f51a6e2"

// The outcomes of one URL, without hooks.
func TestRun(t *testing.T) {
	t.Parallel()
	stat := fetch.OpStat
	list := fetch.OpList
	changed := func(d time.Duration) fetch.Validator { return fetch.Validator{ModTime: day.Add(d)} }
	tests := []struct {
		name string
		job  job.Job // its URL is set from path
		path string
		want job.Result // only the compared fields
		// files lists the files at the end, except old, as NAME CONTENT.
		files string
	}{
		{"a document", job.Job{}, "/a.txt", job.Result{Outcome: job.Saved, Path: "a.txt", Size: 5, Received: 5, SHA256: sumOfA}, "a.txt aaaaa"},
		{"under a name", job.Job{Output: "x"}, "/a.txt", job.Result{Outcome: job.Saved, Path: "x", Size: 5, Received: 5, SHA256: sumOfA}, "x aaaaa"},
		{"under a path", job.Job{Output: "./x/y"}, "/a.txt", job.Result{Outcome: job.Saved, Path: "x/y", Size: 5, Received: 5, SHA256: sumOfA}, "x/y aaaaa"},
		{"in a directory", job.Job{Output: "x/y/"}, "/a.txt", job.Result{Outcome: job.Saved, Path: "x/y/a.txt", Size: 5, Received: 5, SHA256: sumOfA}, "x/y/a.txt aaaaa"},
		{"a range", job.Job{Range: fetch.Range{Offset: 4}}, "/a.txt", job.Result{Outcome: job.Saved, Path: "a.txt", Size: 1, Received: 1}, "a.txt a"},
		{"a file of the name", job.Job{Output: "old"}, "/a.txt", job.Result{Outcome: job.Saved, Path: "old.1", Size: 5, Received: 5, SHA256: sumOfA}, "old.1 aaaaa"},
		{"skip", job.Job{Output: "old", Exists: download.Skip}, "/a.txt", job.Result{Outcome: job.Skipped, Path: "old", Size: 5}, ""},
		{"newer", job.Job{Output: "old", Exists: download.Newer}, "/a.txt", job.Result{Outcome: job.Unchanged, Path: "old", Size: 5}, ""},
		{"resume", job.Job{Output: "old", Exists: download.Resume}, "/a.txt", job.Result{Outcome: job.Unchanged, Path: "old", Size: 5}, ""},
		{"changed", job.Job{IfChanged: changed(-time.Hour)}, "/a.txt", job.Result{Outcome: job.Saved, Path: "a.txt", Size: 5, Received: 5, SHA256: sumOfA}, "a.txt aaaaa"},
		{"not changed", job.Job{IfChanged: changed(0)}, "/a.txt", job.Result{Outcome: job.Unchanged, Size: -1}, ""},
		{"checksum", job.Job{Checksum: "sha256:" + sumOfA}, "/a.txt", job.Result{Outcome: job.Saved, Path: "a.txt", Size: 5, Received: 5, SHA256: sumOfA}, "a.txt aaaaa"},
		{"wrong checksum", job.Job{Checksum: "sha256:" + sumOfA}, "/b.txt", job.Result{Outcome: job.Failed, Class: fetch.ErrChecksum, Size: -1, Received: 2}, ""},
		{"a listing is a document", job.Job{}, "/dir/", job.Result{Outcome: job.Saved, Path: "index", Size: 41, Received: 41}, "index x-shelf://host/a.txt\nx-shelf://host/dir/\n"},
		{"a pattern under a name", job.Job{Output: "x"}, "/*", job.Result{Outcome: job.Saved, Path: "x", Size: 62, Received: 62}, "x x-shelf://host/a.txt\nx-shelf://host/dir/\nx-shelf://host/b.txt\n"},
		{"a pattern", job.Job{Output: "all/"}, "/*", job.Result{Outcome: job.Listed, Size: -1, Entries: 3}, "all/a.txt aaaaa, all/b.txt bb"},
		{"a pattern with a failure", job.Job{}, "/~*", job.Result{Outcome: job.Failed, Size: -1, Entries: 3, Class: fetch.ErrNotFound}, "a.txt aaaaa"},
		{"no content", job.Job{}, "/none", job.Result{Outcome: job.NoContent}, ""},
		{"metadata", job.Job{Op: stat}, "/a.txt", job.Result{Outcome: job.Described, Size: 5}, ""},
		{"metadata of nothing", job.Job{Op: stat}, "/gone", job.Result{Outcome: job.Failed, Class: fetch.ErrNotFound, Size: -1}, ""},
		{"members", job.Job{Op: list}, "/dir/", job.Result{Outcome: job.Listed, Size: -1, Entries: 2}, ""},
		{"members of a pattern", job.Job{Op: list}, "/*", job.Result{Outcome: job.Listed, Size: -1, Entries: 3}, ""},
		{"members of a document", job.Job{Op: list}, "/a.txt", job.Result{Outcome: job.Failed, Class: fetch.ErrNotRetrievable, Size: -1}, ""},
		{"nothing", job.Job{}, "/gone", job.Result{Outcome: job.Failed, Class: fetch.ErrNotFound, Size: -1}, ""},
		{"a session", job.Job{}, "/session", job.Result{Outcome: job.Failed, Class: fetch.ErrInteractive, Size: -1}, ""},
		{"nowhere to write to", job.Job{Output: "-"}, "/a.txt", job.Result{Outcome: job.Failed, Class: fetch.ErrRequest, Size: -1}, ""},
		{"malformed", job.Job{Output: "../x"}, "/a.txt", job.Result{Outcome: job.Failed, Class: fetch.ErrRequest, Size: -1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := filepath.Join(dir, "old")
			if err := errors.Join(os.WriteFile(old, []byte("aaaaa"), 0o600), os.Chtimes(old, day, day)); err != nil {
				t.Fatal(err)
			}
			r := library().runner(t, dir, nil)
			r.SHA256 = true
			j := tt.job
			j.URL = shelfURL(tt.path)
			before := j
			got := r.Run(t.Context(), &j, nil)
			if j.URL != before.URL || j.Op != before.Op {
				t.Errorf("the job was changed: %+v", j)
			}
			if tt.want.SHA256 == "" && tt.want.Outcome == job.Saved {
				tt.want.SHA256 = got.SHA256
			}
			if got.Outcome != tt.want.Outcome || got.Path != tt.want.Path || got.Size != tt.want.Size || got.Received != tt.want.Received ||
				got.SHA256 != tt.want.SHA256 || got.Entries != tt.want.Entries || got.Class != tt.want.Class {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
			if failed := got.Outcome == job.Failed; failed != (got.Err != nil) || failed != (got.Message != "") {
				t.Errorf("error %v, message %q", got.Err, got.Message)
			}
			var have []string
			for name, text := range files(t, dir) {
				if name != "old" {
					have = append(have, name+" "+text)
				}
			}
			slices.Sort(have)
			if all := strings.Join(have, ", "); all != tt.files {
				t.Errorf("files %q, want %q", all, tt.files)
			}
		})
	}
}

func TestResultOfResource(t *testing.T) {
	t.Parallel()
	r := library().runner(t, t.TempDir(), nil)
	j := &job.Job{URL: uri.MustParse("x-shelf://joe:hunter2@host/a.txt"), From: uri.MustParse("x-shelf://joe:hunter2@host/"), Depth: 2, Attempt: 3}
	got := r.Run(t.Context(), j, nil)
	want := job.Result{URL: "x-shelf://joe:xxxxx@host/a.txt", From: "x-shelf://joe:xxxxx@host/", Depth: 2, Attempt: 3, Outcome: job.Saved,
		Kind: "object", ContentType: "text/plain", ModTime: day, Status: 200, Reply: "200 here", Path: "a.txt", Size: 5, Received: 5}
	if time.Since(got.Started) > time.Hour || got.Elapsed <= 0 {
		t.Errorf("%v, %v", got.Started, got.Elapsed)
	}
	got.Started, got.Elapsed = time.Time{}, 0
	if *got != want {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

func TestResultOfFailure(t *testing.T) {
	t.Parallel()
	r := library().runner(t, t.TempDir(), nil)
	got := r.Run(t.Context(), &job.Job{URL: uri.MustParse("x-shelf://joe:hunter2@host/busy")}, nil)
	if got.Class != fetch.ErrBusy || got.Message != "server busy (503 busy)" || got.Hint != "come back" || !got.Retry ||
		got.RetryAfter != 90*time.Second || got.Reason != (fetch.Reason{Kind: fetch.ReasonProxy, Host: "host"}) ||
		got.Status != 503 || got.Reply != "503 busy" || got.FinalURL != "" || !errors.Is(got.Err, fetch.ErrBusy) {
		t.Errorf("%+v", *got)
	}
	text, err := got.MarshalJSON()
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestResultOfUnchangedResource(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]job.Job{
		"a newer file":      {Output: "old", Exists: download.Newer},
		"a complete file":   {Output: "old", Exists: download.Resume},
		"a condition":       {IfChanged: fetch.Validator{ModTime: day}},
		"a file of a login": {URL: uri.MustParse("x-shelf://joe:hunter2@host/a.txt"), Output: "old", Exists: download.Newer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := filepath.Join(dir, "old")
			if err := errors.Join(os.WriteFile(old, []byte("aaaaa"), 0o600), os.Chtimes(old, day, day)); err != nil {
				t.Fatal(err)
			}
			if j.URL.IsZero() {
				j.URL = shelfURL("/a.txt")
			}
			got := library().runner(t, dir, nil).Run(t.Context(), &j, nil)
			if got.Outcome != job.Unchanged || got.Status != 304 && got.Status != 200 || got.FinalURL != "" {
				t.Errorf("%+v", *got)
			}
		})
	}
}

// A listing is passed to the hook, and the entries that it reads are counted.
func TestListingHook(t *testing.T) {
	t.Parallel()
	r := library().runner(t, t.TempDir(), nil)
	for _, op := range []fetch.Op{fetch.OpGet, fetch.OpList} {
		var names []string
		var seen []fetch.Kind
		got := r.Run(t.Context(), &job.Job{URL: shelfURL("/dir/"), Op: op}, &job.Hooks{
			Response: func(resp *fetch.Response) error {
				seen = append(seen, resp.Kind)
				return nil
			},
			Listing: func(resp *fetch.Response) error {
				for e, err := range resp.Entries {
					if err != nil {
						return err
					}
					names = append(names, e.Name)
				}
				return nil
			},
		})
		if got.Outcome != job.Listed || got.Entries != 2 || !slices.Equal(names, []string{"/a.txt", "/dir/"}) || len(seen) != 1 || got.Kind != "listing" {
			t.Errorf("%v: %+v, entries %q, responses %v", op, *got, names, seen)
		}
		own := errors.New("own")
		got = r.Run(t.Context(), &job.Job{URL: shelfURL("/dir/"), Op: op}, &job.Hooks{Listing: func(*fetch.Response) error { return own }})
		if got.Outcome != job.Failed || got.Err != own || got.Class != "" || got.Message != "own" {
			t.Errorf("%v: %+v", op, *got)
		}
	}
}

// For a scheme without listings, the links of a document are listed.
func TestListsLinks(t *testing.T) {
	t.Parallel()
	r := library().runner(t, t.TempDir(), nil)
	var found []string
	hooks := &job.Hooks{Listing: func(resp *fetch.Response) error {
		for e, err := range resp.Entries {
			if err != nil {
				return err
			}
			found = append(found, e.URL.String())
		}
		return nil
	}}
	got := r.Run(t.Context(), &job.Job{URL: uri.MustParse("x-plain://host/page"), Op: fetch.OpList}, hooks)
	if want := []string{"x-plain://host/a.txt", "x-plain://host/b.txt"}; got.Outcome != job.Listed || got.Entries != 2 || !slices.Equal(found, want) {
		t.Errorf("%+v, links %q", *got, found)
	}
	for path, want := range map[string]fetch.Code{"/a.txt": fetch.ErrNotRetrievable, "/gone": fetch.ErrNotFound, "/session": fetch.ErrNotRetrievable} {
		got := r.Run(t.Context(), &job.Job{URL: uri.MustParse("x-plain://host" + path), Op: fetch.OpList}, hooks)
		if got.Outcome != job.Failed || got.Class != want || path == "/a.txt" && !strings.Contains(got.Message, "it is a file, not a directory: x-plain://host/a.txt") {
			t.Errorf("%s: %+v", path, *got)
		}
	}
}

// TestPagesWithoutLinksAreListed checks when a listing is requested for the URL of a page.
func TestPagesWithoutLinksAreListed(t *testing.T) {
	t.Parallel()
	refused := &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 405}}
	unsupported := &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.ErrUnsupported, Hint: "a hint"}
	for name, tt := range map[string]struct {
		path            string
		page            string // with its type before a space
		pageErr, dirErr error
		want            []string
		code            fetch.Code
		asks            string
	}{
		"a page with links":                  {"/d/", `text/html <a href="x">`, nil, nil, []string{"x-page://h/d/x"}, "", "get"},
		"a page without links":               {"/d/", "text/html <p>", nil, nil, []string{"x-page://h/d/member"}, "", "get list"},
		"a text":                             {"/d/", "text/plain x", nil, nil, []string{"x-page://h/d/member"}, "", "get list"},
		"no page":                            {"/d/", "", refused, nil, []string{"x-page://h/d/member"}, "", "get list"},
		"no page at the root":                {"", "", refused, nil, []string{"x-page://h/member"}, "", "get list"},
		"a page without links or listing":    {"/d/", "text/html <p>", nil, unsupported, nil, "", "get list"},
		"a text without a listing":           {"/d/", "text/plain x", nil, unsupported, nil, fetch.ErrNotRetrievable, "get list"},
		"no page and no listing":             {"/d/", "", refused, unsupported, nil, fetch.ErrRefused, "get list"},
		"a listing that fails":               {"/d/", "text/html <p>", nil, fetch.ErrAuth, nil, fetch.ErrAuth, "get list"},
		"a listing that fails, without page": {"/d/", "", refused, fetch.ErrAuth, nil, fetch.ErrAuth, "get list"},
		"a busy server":                      {"/d/", "", fetch.ErrBusy, nil, nil, fetch.ErrBusy, "get"},
		"a server error that may pass":       {"/d/", "", &fetch.Error{Code: fetch.ErrServer, Retry: true}, nil, nil, fetch.ErrServer, "get"},
		"a lost connection":                  {"/d/", "", fetch.ErrNetwork, nil, nil, fetch.ErrNetwork, "get"},
		"no slash":                           {"/d", `text/html <a href="x">`, nil, unsupported, []string{"x-page://h/x"}, "", "list get"},
	} {
		var asks []string
		c := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-page", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Traits: fetch.Traits{HTML: true},
				Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
					asks = append(asks, req.Op.String())
					kind, text, _ := strings.Cut(tt.page, " ")
					resp := &fetch.Response{Meta: fetch.Meta{ContentType: kind, Size: -1}, Body: io.NopCloser(strings.NewReader(text))}
					switch {
					case req.Op == fetch.OpGet:
						return resp, tt.pageErr
					case tt.dirErr != nil:
						return nil, tt.dirErr
					}
					resp.Kind = fetch.KindListing
					member := fetch.Entry{URL: req.URL.Resolve(uri.MustParse("member")), Size: -1}
					driver.SetParts(resp, parts(entries(member)), nil)
					return resp, nil
				})})
		})
		r := &job.Runner{Downloader: &download.Downloader{Client: c}, Retry: retry.Policy{Tries: 1}}
		var found []string
		got := r.Run(t.Context(), &job.Job{URL: uri.MustParse("x-page://h" + tt.path), Op: fetch.OpList}, &job.Hooks{Listing: func(resp *fetch.Response) error {
			for e, err := range resp.Entries {
				if err != nil {
					return err
				}
				found = append(found, e.URL.String())
			}
			return nil
		}})
		c.Close()
		if got.Class != tt.code || !slices.Equal(found, tt.want) || strings.Join(asks, " ") != tt.asks {
			t.Errorf("%s: class %q, %q, requests %q, want %q, %q, %q", name, got.Class, found, asks, tt.code, tt.want, tt.asks)
		}
	}
}

// TestDirectoryAsFile checks that a directory is saved under the name of a file only if the URL ends
// with a slash.
func TestDirectoryAsFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, output string
		code         fetch.Code
	}{
		{"/sub", "file", fetch.ErrRefused},
		{"/sub/", "file", ""},
		{"/sub", "", ""},
		{"/sub", "dir/", ""},
		{"/a.txt", "file", ""},
	} {
		lib := library()
		lib.resources["/sub/"] = lib.resources["/dir/"]
		lib.slash = "/sub"
		got := lib.runner(t, t.TempDir(), nil).Run(t.Context(), &job.Job{URL: shelfURL(tt.path), Output: tt.output}, nil)
		if got.Class != tt.code || tt.code != "" && !strings.Contains(got.Message, "it is a directory: x-shelf://host/sub/") {
			t.Errorf("%s to %q: %+v", tt.path, tt.output, *got)
		}
	}
}

// The writer gets the content instead of a file. It gets listings only if Output is "-".
func TestWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := library().runner(t, dir, nil)
	listing := func(*fetch.Response) error { return nil }
	for _, tt := range []struct {
		path, output string
		outcome      job.Outcome
		want         string
	}{
		{"/a.txt", "-", job.Saved, "aaaaa"},
		{"/a.txt", "", job.Saved, "aaaaa"},
		{"/a.txt", "name", job.Saved, "aaaaa"},
		{"/dir/", "-", job.Saved, "x-shelf://host/a.txt\nx-shelf://host/dir/\n"},
		{"/dir/", "", job.Listed, ""},
		{"/*", "-", job.Saved, "x-shelf://host/a.txt\nx-shelf://host/dir/\nx-shelf://host/b.txt\n"},
		{"/*", "", job.Listed, "aaaaabb"},
	} {
		var b strings.Builder
		got := r.Run(t.Context(), &job.Job{URL: shelfURL(tt.path), Output: tt.output}, &job.Hooks{Writer: &b, Listing: listing})
		if got.Outcome != tt.outcome || b.String() != tt.want || got.Path != "" {
			t.Errorf("%s to %q: %+v, %q", tt.path, tt.output, *got, b.String())
		}
	}
	if have := files(t, dir); len(have) > 0 {
		t.Errorf("files %q", have)
	}
	own := errors.New("full")
	got := r.Run(t.Context(), &job.Job{URL: shelfURL("/a.txt")}, &job.Hooks{Writer: brokenWriter{own}})
	if got.Class != fetch.ErrFile || !errors.Is(got.Err, own) {
		t.Errorf("%+v", *got)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A Runner without a directory can run all jobs that save no file.
func TestWithoutADirectory(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, library().load)
	defer c.Close()
	r := &job.Runner{Downloader: &download.Downloader{Client: c}}
	for _, tt := range []struct {
		job  job.Job
		want fetch.Code
	}{
		{job.Job{URL: shelfURL("/a.txt")}, fetch.ErrRequest},
		{job.Job{URL: shelfURL("/a.txt"), Op: fetch.OpStat}, ""},
		{job.Job{URL: shelfURL("/dir/"), Op: fetch.OpList}, ""},
	} {
		if got := r.Run(t.Context(), &tt.job, nil); got.Class != tt.want {
			t.Errorf("%+v: %+v", tt.job, *got)
		}
	}
	if got := r.Run(t.Context(), &job.Job{URL: shelfURL("/a.txt")}, &job.Hooks{Writer: io.Discard}); got.Outcome != job.Saved {
		t.Errorf("%+v", *got)
	}
}

// The hook Response may consume the content.
func TestTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := library().runner(t, dir, nil)
	for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList} {
		var text []byte
		got := r.Run(t.Context(), &job.Job{URL: shelfURL("/dir/"), Op: op}, &job.Hooks{Response: func(resp *fetch.Response) (err error) {
			if text, err = io.ReadAll(resp.Body); err != nil {
				return err
			}
			return job.ErrTaken
		}})
		if got.Outcome != job.Taken || got.Err != nil || (len(text) > 0) == (op == fetch.OpStat) {
			t.Errorf("%v: %+v, %q", op, *got, text)
		}
	}
	if have := files(t, dir); len(have) > 0 {
		t.Errorf("files %q", have)
	}
}

// A page is saved and its links are found in one pass.
func TestLinksWhileSaving(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := library().runner(t, dir, nil)
	var found []string
	var finding sync.WaitGroup
	var end *io.PipeWriter
	got := r.Run(t.Context(), &job.Job{URL: shelfURL("/page")}, &job.Hooks{Response: func(resp *fetch.Response) error {
		var content *io.PipeReader
		content, end = io.Pipe()
		resp.Tee(end)
		finding.Go(func() {
			entries, _ := links.Read(content, "text/html", resp.URL)
			for e, err := range entries {
				if err == nil {
					found = append(found, e.URL.Path())
				}
			}
			io.Copy(io.Discard, content)
		})
		return nil
	}})
	end.CloseWithError(got.Err)
	finding.Wait()
	if text := files(t, dir)["page"]; got.Outcome != job.Saved || !slices.Equal(found, []string{"/a.txt", "/b.txt"}) || len(text) != int(got.Size) {
		t.Errorf("%+v, links %q, saved %q", *got, found, text)
	}
}

// Middleware and recorders can find the job of an exchange.
func TestFromContext(t *testing.T) {
	t.Parallel()
	var found []*job.Job
	watch := func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			found = append(found, job.FromContext(ctx))
			return next.Open(ctx, req)
		})
	}
	r := library().runner(t, t.TempDir(), &fetch.Options{Middleware: []fetch.Middleware{watch}})
	j := &job.Job{URL: shelfURL("/*")}
	r.Run(t.Context(), j, nil)
	if len(found) != 3 || found[0] != j || found[1].URL != shelfURL("/a.txt") || found[2].URL != shelfURL("/b.txt") {
		t.Errorf("%v", found)
	}
	found = nil
	if _, err := r.Downloader.Client.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://host/a.txt")}); err != nil || len(found) != 1 || found[0] != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := library()
		busy := s.resources["/busy"].err.(*fetch.Error)
		s.resources["/b.txt"] = resource{text: "bb", err: busy, fails: 2}
		r := s.runner(t, t.TempDir(), nil)
		r.Retry = retry.Policy{Tries: 3, Wait: time.Second}
		busy.RetryAfter = 20 * time.Second
		var waits []time.Duration
		var progress [][2]int64
		got := r.Run(t.Context(), &job.Job{URL: shelfURL("/b.txt")}, &job.Hooks{
			Retry:    func(failed int, wait time.Duration, err error) { waits = append(waits, wait) },
			Progress: func(done, total int64) { progress = append(progress, [2]int64{done, total}) },
		})
		if got.Outcome != job.Saved || len(waits) != 2 || got.Elapsed != waits[0]+waits[1] || got.Elapsed < 40*time.Second {
			t.Errorf("%+v after %v", *got, waits)
		}
		if !slices.Equal(progress, [][2]int64{{2, 2}}) {
			t.Errorf("progress %v", progress)
		}
		r.Retry.Tries = 2
		if got := r.Run(t.Context(), &job.Job{URL: shelfURL("/busy")}, nil); got.Class != fetch.ErrBusy || !got.Retry || got.Elapsed != 20*time.Second {
			t.Errorf("%+v", *got)
		}
	})
}

func TestListingsAndMetadataAreRetried(t *testing.T) {
	t.Parallel()
	lost := &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("lost")}
	file := entries(entry("/a.txt", fetch.EntryObject))
	for _, tt := range []struct {
		name string
		job  job.Job
		path string
		res  resource
		want job.Result
		asks string
	}{
		{"metadata", job.Job{Op: fetch.OpStat}, "/x", resource{text: "xx", err: lost, fails: 2},
			job.Result{Outcome: job.Described, Size: 2}, "stat /x, stat /x, stat /x"},
		{"metadata that stays away", job.Job{Op: fetch.OpStat}, "/x", resource{err: lost, fails: 3},
			job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Size: -1}, "stat /x, stat /x, stat /x"},
		{"a listing", job.Job{Op: fetch.OpList}, "/d/", resource{entries: file, err: lost, fails: 2},
			job.Result{Outcome: job.Listed, Entries: 1, Size: -1}, "list /d/, list /d/, list /d/"},
		{"a listing that is lost before its first entry", job.Job{Op: fetch.OpList}, "/d/", resource{entries: entries(), err: lost, cut: 2},
			job.Result{Outcome: job.Listed, Size: -1}, "list /d/, list /d/, list /d/"},
		{"a listing that is lost behind its first entry", job.Job{Op: fetch.OpList}, "/d/", resource{entries: file, err: lost, cut: 1},
			job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Entries: 1, Size: -1}, "list /d/"},
		{"what turns out to be a listing", job.Job{}, "/d/", resource{entries: entries(), err: lost, cut: 2},
			job.Result{Outcome: job.Listed, Size: -1}, "get /d/, get /d/, get /d/"},
		{"what turns out to be a listing, behind its first entry", job.Job{}, "/d/", resource{entries: file, err: lost, cut: 1},
			job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Entries: 1, Size: -1}, "get /d/"},
		{"a pattern", job.Job{}, "/d*", resource{entries: file, err: lost, cut: 2, pattern: true},
			job.Result{Outcome: job.Listed, Entries: 1, Size: -1}, "get /d*, get /d*, get /d*, get /a.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := library()
				s.resources[tt.path] = tt.res
				r := s.runner(t, t.TempDir(), nil)
				r.Retry.Tries = 3
				j := tt.job
				j.URL = shelfURL(tt.path)
				shown := 0
				got := r.Run(t.Context(), &j, &job.Hooks{Listing: func(resp *fetch.Response) error {
					for _, err := range resp.Entries {
						if err != nil {
							return err
						}
						shown++
					}
					return nil
				}})
				if got.Outcome != tt.want.Outcome || got.Class != tt.want.Class || got.Entries != tt.want.Entries || got.Size != tt.want.Size {
					t.Errorf("got  %+v\nwant %+v", *got, tt.want)
				}
				if asks := s.requests(); asks != tt.asks || int64(shown) != tt.want.Entries && !tt.res.pattern {
					t.Errorf("asked for %s, %d shown", asks, shown)
				}
			})
		})
	}
}

func TestTransferStartsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b.txt.part"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	got := library().runner(t, dir, nil).Run(t.Context(), &job.Job{URL: shelfURL("/b.txt"), Exists: download.Resume},
		&job.Hooks{Restart: func(reason string) { reasons = append(reasons, reason) }})
	if got.Outcome != job.Saved || len(reasons) != 1 || !maps.Equal(files(t, dir), map[string]string{"b.txt": "bb"}) {
		t.Errorf("%+v, %q, %q", *got, reasons, files(t, dir))
	}
}

// A file left by another tool under the name is resumed.
func TestResumesExistingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("aaa"), 0o600); err != nil {
		t.Fatal(err)
	}
	var proofs []string
	got := library().runner(t, dir, nil).Run(t.Context(), &job.Job{URL: shelfURL("/a.txt"), Exists: download.Resume},
		&job.Hooks{Reuse: func(proof string) { proofs = append(proofs, proof) }})
	if got.Outcome != job.Saved || got.Size != 5 || got.Received != 2 || len(proofs) != 1 || !maps.Equal(files(t, dir), map[string]string{"a.txt": "aaaaa"}) {
		t.Errorf("%+v, %q, %q", *got, proofs, files(t, dir))
	}
}

func TestEndOfContext(t *testing.T) {
	t.Parallel()
	r := library().runner(t, t.TempDir(), nil)
	for _, tt := range []struct {
		cause error
		want  fetch.Code
	}{{nil, fetch.ErrInterrupted}, {fetch.ErrInterrupted, fetch.ErrInterrupted}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		got := r.Run(ctx, &job.Job{URL: shelfURL("/*")}, &job.Hooks{Match: func(*job.Job) error {
			cancel(tt.cause)
			return nil
		}})
		if got.Class != tt.want || got.Retry {
			t.Errorf("%v: %+v", tt.cause, *got)
		}
	}
}

// A Runner may be used concurrently.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	s := library()
	const n = 50
	for i := range n {
		s.resources["/n"+strconv.Itoa(i)] = resource{text: strings.Repeat("x", i)}
	}
	dir := t.TempDir()
	r := s.runner(t, dir, nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			got := r.Run(t.Context(), &job.Job{URL: shelfURL("/n" + strconv.Itoa(i)), Depth: i}, nil)
			if got.Outcome != job.Saved || got.Size != int64(i) || got.Depth != i {
				t.Errorf("%d: %+v", i, *got)
			}
		})
	}
	wg.Wait()
	if have := files(t, dir); len(have) != n {
		t.Errorf("%d files", len(have))
	}
}
