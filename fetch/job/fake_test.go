package job_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// A shelf is a driver that maps the paths of x-shelf://host/ to resources.
type shelf struct {
	mu        sync.Mutex
	resources map[string]resource
	slash     string   // a directory that may be named without its trailing slash
	log       []string // operations and paths of all requests
	header    textproto.MIMEHeader
}

// A resource configures the responses for a path of a shelf.
type resource struct {
	text        string
	none        bool // the response has no content
	contentType string
	entries     iter.Seq2[fetch.Entry, error] // for a listing
	pattern     bool
	err         error
	fails       int // number of requests that fail with err; 0 means all
	cut         int // number of listings that fail with err after their entries
	modTime     time.Time
}

func entries(list ...fetch.Entry) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func entry(path string, kind fetch.EntryKind) fetch.Entry {
	return fetch.Entry{URL: shelfURL(path), Name: path, Kind: kind, Size: -1}
}

func shelfURL(path string) uri.URI { return uri.MustParse("x-shelf://host" + path) }

func (s *shelf) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, u := req.URL.Path(), req.URL
	if path == s.slash && s.slash != "" {
		path, u = path+"/", uri.MustParse(u.String()+"/")
	}
	s.log = append(s.log, req.Op.String()+" "+path)
	s.header = req.Header
	r, ok := s.resources[path]
	switch {
	case !ok:
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 550, Text: "no such thing"}}
	case r.cut > 0:
		whole, cause := r.entries, r.err
		left := r
		if left.cut--; left.cut == 0 {
			left.err = nil
		}
		s.resources[path] = left
		r.entries = func(yield func(fetch.Entry, error) bool) {
			for e := range whole {
				if !yield(e, nil) {
					return
				}
			}
			yield(fetch.Entry{}, cause)
		}
	case r.err != nil:
		if r.fails == 1 {
			r.err = nil
		}
		r.fails--
		defer func() { s.resources[path] = r }()
		return nil, s.resources[path].err
	case req.Op == fetch.OpList && r.entries == nil:
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("no listing: %w", os.ErrInvalid)}
	case !req.IfChanged.ModTime.IsZero() && !r.modTime.After(req.IfChanged.ModTime):
		return nil, &fetch.Error{Code: fetch.ErrNotModified, Reply: fetch.Reply{Code: 304, Text: "the same"}}
	}
	resp := &fetch.Response{URL: u, Meta: fetch.Meta{ContentType: r.contentType, Size: int64(len(r.text)), Reply: fetch.Reply{Code: 200, Text: "here"}}}
	resp.ModTime = r.modTime
	if r.none {
		resp.Kind, resp.Body = fetch.KindNone, fetch.NoBody
		return resp, nil
	}
	if r.entries != nil {
		resp.Kind, resp.Size, resp.Pattern = fetch.KindListing, -1, r.pattern
		driver.SetParts(resp, parts(r.entries), nil)
		return resp, nil
	}
	text := r.text
	if req.Range.Offset > 0 {
		text = text[req.Range.Offset:]
		resp.Size, resp.Total = int64(len(text)), resp.Size
		resp.Range = fetch.Range{Offset: req.Range.Offset, Length: resp.Size}
	}
	resp.Body = io.NopCloser(strings.NewReader(text))
	if req.Op == fetch.OpStat {
		resp.Body = fetch.NoBody
	}
	return resp, nil
}

// parts returns a line for each entry.
func parts(all iter.Seq2[fetch.Entry, error]) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		for e, err := range all {
			part := driver.Part{Text: []byte(e.URL.String() + "\n"), Entries: []fetch.Entry{e}}
			if err != nil {
				part = driver.Part{}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// load registers the shelf as x-shelf and, without listings and metadata, as x-plain.
func (s *shelf) load(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-shelf", Ops: []fetch.Op{fetch.OpGet, fetch.OpList, fetch.OpStat}, Ranges: true, Driver: s})
	reg.Register(fetch.Scheme{Name: "x-plain", Ops: []fetch.Op{fetch.OpGet}, Driver: s})
}

// requests returns the requests to the shelf.
func (s *shelf) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, ", ")
}

// runner returns a Runner that saves files in dir.
func (s *shelf) runner(t *testing.T, dir string, opts *fetch.Options) *job.Runner {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(opts, s.load)
	t.Cleanup(func() {
		c.Close()
		root.Close()
	})
	return &job.Runner{Downloader: &download.Downloader{Client: c, Root: root, Sync: download.SyncNone}, Retry: retry.Policy{Tries: 1}}
}

// files returns the files below a directory with their contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	have := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		have[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}
