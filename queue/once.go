package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

const oncePoll = 250 * time.Millisecond

// Once lets one of all workers do something. Unless over says that it is done, Once takes the lease
// of a key, asks over again, and calls do, whose context ends when the lease is lost. While another
// worker has the lease, Once waits.
func Once(ctx context.Context, e Engine, key string, over func(context.Context) (bool, error), do func(context.Context) error) error {
	for {
		if done, err := over(ctx); done || err != nil {
			return err
		}
		asked := time.Now()
		revision, err := e.Leases().Create(ctx, key, []byte(rand.Text()))
		if err == nil {
			return holding(ctx, e, key, revision, asked, over, do)
		}
		if !errors.Is(err, ErrExists) {
			return &engineError{err}
		}
		if err := sleep(ctx, oncePoll); err != nil {
			return err
		}
	}
}

// holding is Once with the lease.
func holding(ctx context.Context, e Engine, key string, revision uint64, asked time.Time,
	over func(context.Context) (bool, error), do func(context.Context) error) error {
	held, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		ttl := e.Limits().LeaseTTL
		for until := asked.Add(ttl - ttl/4); sleep(held, ttl/6) == nil; {
			if time.Now().After(until) {
				cancel(errLost)
				return
			}
			asked := time.Now()
			short, stop := context.WithTimeout(held, ttl/4)
			now, err := e.Leases().Update(short, key, []byte(rand.Text()), revision)
			stop()
			switch {
			case err == nil:
				revision, until = now, asked.Add(ttl-ttl/4)
			case errors.Is(err, ErrConflict): // it is another's, or an answer was lost
				cancel(errLost)
				return
			}
		}
	}()
	done, err := over(held)
	if !done && err == nil {
		err = do(held)
	}
	cause := context.Cause(held)
	cancel(nil)
	<-kept
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), operation)
	defer stop()
	e.Leases().Delete(short, key, revision) // or it ends by itself
	if err != nil && cause == errLost {
		return &engineError{errLost}
	}
	return err
}
