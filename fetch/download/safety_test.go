package download_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// Implausible times are not set on files and not used to compare ages.
func TestImplausibleTimes(t *testing.T) {
	t.Parallel()
	content := pattern(100, 1)
	for year, plausible := range map[int]bool{1: false, 1600: false, 1969: false, 1970: true, 2200: true, 2201: false, 2300: false, 9999: false} {
		for _, size := range []int{100, 100_000} {
			dir := t.TempDir()
			when := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
			l := newLiar(pattern(size, 1))
			l.valid.ModTime = when
			d := l.downloader(t, dir)
			if _, err := d.Get(t.Context(), liarURL, "", nil); err != nil {
				t.Fatal(err)
			}
			info, err := download.Lstat(d, "file.bin")
			if err != nil {
				t.Fatal(err)
			}
			if plausible != info.ModTime().Equal(when) || !plausible && time.Since(info.ModTime()) > time.Hour {
				t.Errorf("%d: the file is of %v", year, info.ModTime())
			}
		}
	}
	dir := t.TempDir()
	l := newLiar(content, reply{blind: true})
	l.valid.ModTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.WriteFile(filepath.Join(dir, "file.bin"), pattern(100, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Exists: download.Newer}); err != nil || r.Outcome != download.Saved {
		t.Errorf("a resource of 1601: %+v, %v", r, err)
	}
}

// If the server reports that there is no content, no file is created or removed.
func TestNoContent(t *testing.T) {
	t.Parallel()
	for _, exists := range []download.Exists{download.NewName, download.Overwrite, download.Resume, download.Newer} {
		for _, there := range []string{"", "old"} {
			dir := t.TempDir()
			if there != "" {
				name := filepath.Join(dir, "file.bin")
				if err := errors.Join(os.WriteFile(name, []byte(there), 0o600), os.Chtimes(name, time.Time{}, morning.Add(-time.Hour))); err != nil {
					t.Fatal(err)
				}
			}
			d := newLiar(nil, reply{none: true}).downloader(t, dir)
			r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: exists})
			if err != nil || r.Outcome != download.NoContent || r.Name != "" {
				t.Errorf("mode %d: %+v, %v", exists, r, err)
			}
			have := contents(t, dir)
			if got, ok := have["file.bin"]; got != there || ok != (there != "") || len(have) > 1 {
				t.Errorf("mode %d: files %q", exists, names(have))
			}
		}
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newLiar(pattern(100_000, 1), reply{cut: 10}, reply{none: true}).downloader(t, dir)
		if r, err := d.Get(t.Context(), liarURL, "", nil); err != nil || r.Outcome != download.Saved || len(contents(t, dir)) != 1 {
			t.Errorf("in the middle: %+v, %v, files %q", r, err, names(contents(t, dir)))
		}
	})
	var out bytes.Buffer
	d := &download.Downloader{Client: fetch.New(nil, newLiar(nil, reply{none: true}).load)}
	if r, err := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, &out, nil); err != nil || r.Outcome != download.NoContent || out.Len() > 0 {
		t.Errorf("copied: %+v, %v", r, err)
	}
}

// A response without content does not match a checksum: an altered bit can turn status 200 into 204.
func TestNoContentHasNoChecksum(t *testing.T) {
	t.Parallel()
	opts := &download.Options{Checksum: "md5:" + strings.Repeat("0", 32)}
	dir := t.TempDir()
	d := newLiar(nil, reply{none: true}).downloader(t, dir)
	if r, err := d.Get(t.Context(), liarURL, "", opts); fetch.CodeOf(err) != fetch.ErrChecksum {
		t.Errorf("Get = %+v, %v", r, err)
	}
	if have := contents(t, dir); len(have) > 0 {
		t.Errorf("files %q", names(have))
	}
	var out bytes.Buffer
	if r, err := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, &out, opts); fetch.CodeOf(err) != fetch.ErrChecksum {
		t.Errorf("Copy = %+v, %v", r, err)
	}
}

// An endless body set by a hook is read up to one byte beyond the reported size.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	endless := &zeros{}
	_, err := newLiar(pattern(100_000, 1)).downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{
		Response: func(resp *fetch.Response) error {
			resp.Body = io.NopCloser(endless)
			return nil
		}})
	if have := contents(t, dir); !errors.Is(err, fetch.ErrProtocol) || endless.read > 1<<20 || have["file.bin"] != "" || len(have["file.bin.part"]) > 100_001 {
		t.Errorf("%v after %d bytes, files %q", err, endless.read, names(contents(t, dir)))
	}
}

type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	z.read += int64(len(p))
	clear(p)
	return len(p), nil
}

// The caller limits the wait that a server may ask for.
func TestMaxRetryWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		most, asked time.Duration
		waits       bool
	}{
		{0, 60 * time.Second, true},
		{0, 61 * time.Second, false},
		{time.Second, time.Second, true},
		{time.Second, 2 * time.Second, false},
		{-1, 24 * time.Hour, true},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			l := newLiar(nil, reply{err: &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: tt.asked}})
			_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Retry: retry.Policy{MaxRetryAfter: tt.most, Wait: 1}})
			if tt.waits {
				if err != nil || time.Since(start) != tt.asked {
					t.Errorf("asked for %v of %v: %v after %v", tt.asked, tt.most, err, time.Since(start))
				}
				return
			}
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrBusy || e.RetryAfter != tt.asked || !strings.Contains(e.Hint, tt.asked.String()) || time.Since(start) != 0 {
				t.Errorf("asked for %v of %v: %v after %v", tt.asked, tt.most, err, time.Since(start))
			}
		})
	}
}
