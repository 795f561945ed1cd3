package queue_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A page that is retrieved again is requested with the validators of its last result. If it is unchanged,
// the new result names the earlier content.
func TestRetrievingAgain(t *testing.T) {
	t.Parallel()
	type site struct {
		body, etag string
		modified   time.Time
		to         string // target of a redirect from /page
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	first := site{body: "one", etag: `"1"`}
	for name, tt := range map[string]struct {
		first, then site
		job         job.Job
		last        func(id string) string
		lose        bool // the content before the second request
		want        string
	}{
		"same entity tag":           {first: first, then: first, want: "unchanged one"},
		"weak entity tag":           {first: site{body: "one", etag: `W/"1"`}, then: site{body: "1", etag: `W/"1"`}, want: "unchanged one"},
		"other entity tag":          {first: first, then: site{body: "two", etag: `"2"`}, want: "saved two"},
		"same modification time":    {first: site{body: "one", modified: old}, then: site{body: "one", modified: old}, want: "unchanged one"},
		"later modification time":   {first: site{body: "one", modified: old}, then: site{body: "two", modified: old.Add(time.Minute)}, want: "saved two"},
		"just modified":             {first: site{body: "one", modified: old.Add(2 * time.Hour)}, then: site{body: "two", modified: old.Add(2 * time.Hour)}, want: "saved two"},
		"no validator":              {first: site{body: "one"}, then: site{body: "two"}, want: "saved two"},
		"redirect to the same page": {first: site{body: "one", etag: `"1"`, to: "/a"}, then: site{body: "one", etag: `"1"`, to: "/a"}, want: "unchanged one"},
		"redirect to another page":  {first: site{body: "one", etag: `"1"`, to: "/a"}, then: site{body: "two", etag: `"1"`, to: "/b"}, want: "saved two"},
		"content is lost":           {first: first, then: first, lose: true, want: "saved one"},
		"result has expired":        {first: first, then: site{body: "two", etag: `"1"`}, last: func(string) string { return "0123456789abcdef0123456789abcdef" }, want: "saved two"},
		"result of another job":     {first: first, then: site{body: "two", etag: `"1"`}, job: job.Job{Accept: []string{"text/plain"}}, want: "saved two"},
		"POST":                      {first: first, then: site{body: "two", etag: `"1"`}, job: job.Job{Method: "POST", Data: "x"}, want: "saved two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Pointer[site]
			now.Store(&tt.first)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s := now.Load()
				if s.to != "" && r.URL.Path == "/page" {
					http.Redirect(w, r, s.to, http.StatusFound)
					return
				}
				if s.etag != "" {
					w.Header().Set("ETag", s.etag)
				}
				if !s.modified.IsZero() {
					w.Header().Set("Last-Modified", s.modified.UTC().Format(http.TimeFormat))
				}
				if s.etag != "" && r.Header.Get("If-None-Match") == s.etag ||
					s.etag == "" && r.Header.Get("If-Modified-Since") == s.modified.UTC().Format(http.TimeFormat) {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				w.Write([]byte(s.body))
			}))
			t.Cleanup(server.Close)
			client := fetch.New(nil, httpdriver.Load)
			t.Cleanup(func() { client.Close() })
			store, err := queue.OpenDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			e := queuetest.NewModel(queuetest.Options{}).Connect("a")
			run := func(id string) (ev queue.Event) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				w := queue.Worker{Engine: e, Store: store, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}
				done := make(chan error)
				go func() { done <- w.Run(ctx) }()
				for r, err := range e.Results(ctx, 0, true) {
					if err != nil {
						t.Fatal(err)
					}
					if r.ID == id {
						if err := json.Unmarshal(r.Data, &ev); err != nil {
							t.Fatal(err)
						}
						break
					}
				}
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
				return ev
			}
			j := tt.job
			j.URL = uri.MustParse(server.URL + "/page")
			id, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: j.URL})
			if err != nil {
				t.Fatal(err)
			}
			before := run(id)
			now.Store(&tt.then)
			if tt.last != nil {
				id = tt.last(id)
			}
			if tt.lose {
				if err := store.Remove(t.Context(), before.SHA256); err != nil {
					t.Fatal(err)
				}
			}
			again, duplicate, err := queue.SubmitAfter(t.Context(), e, queue.Normal, &j, id)
			if duplicate || err != nil {
				t.Fatalf("submitted again: %v, %v", duplicate, err)
			}
			if _, duplicate, err := queue.SubmitAfter(t.Context(), e, queue.Normal, &j, id); !duplicate || err != nil {
				t.Errorf("submitted after the same result: duplicate %v, %v", duplicate, err)
			}
			ev := run(again)
			if got := ev.Name + " " + read(t, store, ev.SHA256); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if ev.Path == "" || ev.Bytes == nil || ev.Key != queue.Key(&j) || ev.ETag != tt.then.etag {
				t.Errorf("result %+v", ev)
			}
		})
	}
}

func read(t *testing.T, s queue.Store, sum string) string {
	t.Helper()
	r, err := s.Get(t.Context(), sum)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
