package download_test

import (
	"errors"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
)

// No refusal and no fault in the response to a resume removes received bytes, within a run and in a
// later one.
func TestFailureKeepsThePart(t *testing.T) {
	t.Parallel()
	const size, received = 300_000, 100_000
	for _, code := range []fetch.Code{fetch.ErrProtocol, fetch.ErrRefused, fetch.ErrServer, fetch.ErrNotModified, fetch.ErrRange, fetch.ErrChanged,
		fetch.ErrAuth, fetch.ErrNotFound, fetch.ErrTLS, fetch.ErrBusy, fetch.ErrNetwork, fetch.ErrRedirect, fetch.ErrTruncated} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fault := reply{err: &fetch.Error{Code: code}}
			l := newLiar(pattern(size, 1), reply{cut: received}, fault, fault, fault, fault, fault, fault)
			d := l.downloader(t, dir)
			for run := range 2 {
				_, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Retry: retry.Policy{Wait: 1}})
				if err == nil {
					t.Fatal("it succeeded")
				}
				if have := contents(t, dir); len(have["file.bin.part"]) != received || have["file.bin.part.json"] == "" {
					t.Fatalf("run %d: files %q, %v", run, names(have), err)
				}
			}
			l.script = nil
			if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume}); err != nil {
				t.Fatal(err)
			}
			if last := l.requests()[len(l.requests())-1]; last != "100000+0 if" {
				t.Errorf("the last request is %q", last)
			}
		})
	}
}

// A size that the server exceeds is not recorded, because a later run would take the bytes for the
// whole file.
func TestExceededSizeIsNotRecorded(t *testing.T) {
	t.Parallel()
	dir, content := t.TempDir(), pattern(300_000, 1)
	l := newLiar(content, reply{size: -1})
	d := l.downloader(t, dir)
	if _, err := d.Get(t.Context(), liarURL, "", nil); !errors.Is(err, fetch.ErrProtocol) {
		t.Fatal(err)
	}
	if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume}); err != nil {
		t.Fatal(err)
	}
	if have := contents(t, dir); have["file.bin"] != string(content) {
		t.Errorf("%d bytes of %d", len(have["file.bin"]), len(content))
	}
}
