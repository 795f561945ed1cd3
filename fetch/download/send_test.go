package download_test

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// A retry of a request with a body sends the whole body again and does not resume the response. A
// body that can be sent only once is not retried.
func TestRequestsWithBodies(t *testing.T) {
	t.Parallel()
	var sent []string
	loader := func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-post", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Bodies: true,
			Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				content, err := io.ReadAll(req.Body)
				if err != nil {
					return nil, err
				}
				req.Body.Close()
				sent = append(sent, string(content))
				if !req.Range.IsZero() || !req.IfChanged.IsZero() {
					t.Errorf("try %d asks for a rest", len(sent))
				}
				meta := fetch.Meta{Size: 6, Validator: fetch.Validator{ETag: `"1"`}}
				switch len(sent) {
				case 1:
					return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true}
				case 2:
					return &fetch.Response{Meta: meta, Body: io.NopCloser(strings.NewReader("ans"))}, nil
				}
				return &fetch.Response{Meta: meta, Body: io.NopCloser(strings.NewReader("answer"))}, nil
			})})
	}
	client := fetch.New(nil, loader)
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &download.Downloader{Client: client, Root: root}
	body := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("question")), nil }
	req := &fetch.Request{URL: uri.MustParse("x-post:a"), GetBody: body}
	opts := &download.Options{Retry: retry.Policy{Wait: time.Nanosecond}, Segments: 4}
	if _, err := d.Do(t.Context(), req, "a", opts); err != nil {
		t.Fatal(err)
	}
	if content, err := root.ReadFile("a"); string(content) != "answer" || !slices.Equal(sent, []string{"question", "question", "question"}) {
		t.Errorf("saved %q, %v; sent %q", content, err, sent)
	}
	sent = nil
	once, _ := body()
	if _, err := d.Do(t.Context(), &fetch.Request{URL: req.URL, Body: once}, "b", opts); fetch.CodeOf(err) != fetch.ErrBusy || len(sent) != 1 {
		t.Errorf("%v after %d tries", err, len(sent))
	}
	for _, exists := range []download.Exists{download.Resume, download.Newer} {
		if _, err := d.Do(t.Context(), req, "a", &download.Options{Exists: exists}); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("%v", err)
		}
	}
}
