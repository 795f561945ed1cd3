package main

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// TestServersAreAwaited refuses attempts for a minute. The next one has time.
func TestServersAreAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := retryShared(t.Context(), sharedPatience, func(ctx context.Context) error {
			if time.Since(begun) < time.Minute {
				return fetch.ErrNetwork.Wrap("", syscall.ECONNREFUSED)
			}
			if err := ctx.Err(); err != nil {
				return fetch.ErrNetwork.Wrap("", err)
			}
			return nil
		})
		if waited := time.Since(begun); err != nil || waited > time.Minute+time.Second {
			t.Errorf("%v after %v", err, waited)
		}
	})
}

func TestServersAreAwaitedForATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := retryShared(t.Context(), sharedPatience, func(ctx context.Context) error {
			<-ctx.Done()
			return fetch.ErrNetwork.Wrap("", ctx.Err())
		})
		if waited := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || waited < sharedPatience ||
			waited > 2*sharedPatience {
			t.Errorf("%v after %v", err, waited)
		}
	})
}
