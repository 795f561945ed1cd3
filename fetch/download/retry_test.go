package download_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
)

// Pauses are shorter than a bound that doubles up to one minute.
func TestBackoff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		busy := reply{err: &fetch.Error{Code: fetch.ErrBusy, Retry: true}}
		l := newLiar(nil, busy, busy, busy, busy, busy, busy, busy, busy)
		var total time.Duration
		start, bound, n := time.Now(), 2*time.Second, 0
		_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Retry: retry.Policy{Tries: -1, Wait: 2 * time.Second,
			Report: func(failed int, wait time.Duration, err error) {
				if n++; failed != n || wait < 0 || wait >= bound || !errors.Is(err, fetch.ErrBusy) {
					t.Errorf("try %d as %d: pause %v of %v, %v", n, failed, wait, bound, err)
				}
				total += wait
				bound = min(2*bound, time.Minute)
			}}})
		if err != nil || n != 8 || time.Since(start) != total {
			t.Errorf("%v after %d tries and %v, pauses %v", err, n, time.Since(start), total)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := newLiar(nil, reply{err: &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: 50 * time.Second}})
		if _, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil); err != nil || time.Since(start) != 50*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		l = newLiar(nil, reply{err: &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: 24 * time.Hour}})
		_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrBusy || !strings.Contains(e.Hint, "24h") {
			t.Errorf("error %v", err)
		}
	})
}

// If no name server responds, there may be no network, so there are fewer tries. In the middle of a
// transfer, the network is expected to return.
func TestFewTriesWithoutANameServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		unknown := reply{err: &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Reason: fetch.Reason{Kind: fetch.ReasonNameServer}}}
		l := newLiar(pattern(1000, 1), unknown, unknown, unknown)
		if _, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil); !errors.Is(err, fetch.ErrNetwork) || len(l.received) != 2 {
			t.Errorf("at the beginning: %v after %d tries", err, len(l.received))
		}
		l = newLiar(pattern(1000, 1), reply{cut: 10}, unknown, unknown, unknown)
		if _, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil); err != nil || len(l.received) != 5 {
			t.Errorf("in the middle: %v after %d tries", err, len(l.received))
		}
	})
}

func TestContextEndsPause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := newLiar(pattern(1000, 1), reply{cut: 10}, reply{err: &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: time.Minute}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		_, err := l.downloader(t, dir).Get(ctx, liarURL, "", nil)
		if !errors.Is(err, fetch.ErrInterrupted) || !errors.Is(err, context.Canceled) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if have := contents(t, dir); len(have["file.bin.part"]) != 10 || have["file.bin.part.json"] == "" {
			t.Errorf("files %q", names(have))
		}
	})
}
