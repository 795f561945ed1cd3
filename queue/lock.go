package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch/retry"
)

const lockPoll = 250 * time.Millisecond

// WithLock calls do while it holds the lock of a key, which is a lease. It calls isDone before it
// waits for the lock and again with the lock, and returns if isDone reports that the work is done.
// The context of do is cancelled if the lock is lost.
func WithLock(ctx context.Context, e Engine, key string, isDone func(context.Context) (bool, error),
	do func(context.Context) error) error {
	for {
		if done, err := isDone(ctx); done || err != nil {
			return err
		}
		requested := time.Now()
		revision, err := e.Leases().Create(ctx, key, []byte(rand.Text()))
		if err == nil {
			return locked(ctx, e, key, revision, requested, isDone, do)
		}
		if !errors.Is(err, ErrExists) {
			return storeError(err)
		}
		if err := retry.Sleep(ctx, lockPoll); err != nil {
			return err
		}
	}
}

// locked calls isDone and do while it renews the lock.
func locked(ctx context.Context, e Engine, key string, revision uint64, requested time.Time,
	isDone func(context.Context) (bool, error), do func(context.Context) error) error {
	lockCtx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ttl := e.Limits().LeaseTTL
		for until := requested.Add(ttl - ttl/4); retry.Sleep(lockCtx, ttl/6) == nil; {
			if time.Now().After(until) {
				cancel(errLost)
				return
			}
			requested := time.Now()
			short, stop := context.WithTimeout(lockCtx, ttl/4)
			now, err := e.Leases().Update(short, key, []byte(rand.Text()), revision)
			stop()
			switch {
			case err == nil:
				revision, until = now, requested.Add(ttl-ttl/4)
			case errors.Is(err, ErrConflict): // another worker has it, or a response was lost
				cancel(errLost)
				return
			}
		}
	}()
	done, err := isDone(lockCtx)
	if !done && err == nil {
		err = do(lockCtx)
	}
	cause := context.Cause(lockCtx)
	cancel(nil)
	<-ended
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
	defer stop()
	e.Leases().Delete(short, key, revision) // otherwise it expires
	if err != nil && cause == errLost {
		return storeError(errLost)
	}
	return err
}
