package download_test

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// An expecting driver implements Expect. It evaluates IfChanged, but does not report the time of the
// resource.
type expecting struct{}

var changedAt = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (expecting) Expect(*fetch.Request) (fetch.Meta, bool) { return fetch.Meta{Name: "x"}, true }

func (expecting) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	if known := req.IfChanged.ModTime; !known.IsZero() && !changedAt.After(known) {
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	return &fetch.Response{Meta: fetch.Meta{Size: -1, Name: "x"}, Body: io.NopCloser(strings.NewReader("new"))}, nil
}

// TestNewerUnderAnExpectedName tests Newer for a name that only the driver's Expect returns.
func TestNewerUnderAnExpectedName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		there   time.Time
		want    string
		outcome download.Outcome
	}{
		{changedAt.Add(time.Hour), "old", download.Unchanged},
		{changedAt.Add(-time.Hour), "new", download.Saved},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "x")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, tt.there, tt.there); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		d := &download.Downloader{Client: fetch.New(nil, fetch.Use("x-foresees", expecting{})), Root: root, Sync: download.SyncNone}
		r, err := d.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x-foresees://h/elsewhere")}, "", &download.Options{Exists: download.Newer})
		got, _ := os.ReadFile(file)
		if err != nil || r.Outcome != cmp.Or(tt.outcome, download.Saved) || r.Name != "x" || string(got) != tt.want {
			t.Errorf("%v: %+v, %v, %q", tt.there, r, err, got)
		}
	}
}
