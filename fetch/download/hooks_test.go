package download_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// listing is a driver for a directory.
func listing(context.Context, *fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: 4}, Body: io.NopCloser(strings.NewReader("a\nb\n"))}, nil
}

// A listing is saved like a document, in its native form.
func TestListing(t *testing.T) {
	t.Parallel()
	d := newLiar(nil).downloader(t, t.TempDir())
	d.Client = fetch.New(nil, fetch.Use("x-dir", fetch.DriverFunc(listing)))
	for name, want := range map[string]string{"named": "named", "": "index"} {
		if _, err := d.Get(t.Context(), "x-dir://h/d/", name, nil); err != nil || contents(t, d.Root.Name())[want] != "a\nb\n" {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// An error returned by a hook is passed on unchanged and not retried.
func TestResponseHook(t *testing.T) {
	t.Parallel()
	l := newLiar(pattern(10, 1))
	own := &fetch.Error{Code: fetch.ErrBusy, Retry: true}
	_, err := l.downloader(t, t.TempDir()).Get(t.Context(), liarURL, "", &download.Options{Response: func(resp *fetch.Response) error {
		if resp.Size != 10 {
			t.Errorf("size %d", resp.Size)
		}
		return own
	}})
	if err != own || len(l.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(l.requests()))
	}
}

func TestSessionIsNotSaved(t *testing.T) {
	t.Parallel()
	d := newLiar(nil).downloader(t, t.TempDir())
	d.Client = fetch.New(nil, fetch.Use("x-tty", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession}, Body: io.NopCloser(strings.NewReader("login:"))}, nil
	})))
	if _, err := d.Get(t.Context(), "x-tty://h/", "x", nil); !errors.Is(err, fetch.ErrInteractive) || len(contents(t, d.Root.Name())) != 0 {
		t.Errorf("error %v", err)
	}
}
