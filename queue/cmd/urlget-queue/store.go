package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/s3"
)

type storeFlags struct {
	location                      string
	endpoint, region, credentials string
}

func (k *storeFlags) define(f *pflag.FlagSet) {
	f.StringVar(&k.location, "artefacts", "artefacts",
		"store contents in `DIR`, in s3://BUCKET/PREFIX, or in the object store of NATS (nats:)")
	f.StringVar(&k.endpoint, "s3-endpoint", "",
		"use the S3 endpoint `URL` (default $AWS_ENDPOINT_URL, or Amazon's)")
	f.StringVar(&k.region, "s3-region", "", "use the S3 region `NAME` (default $AWS_REGION)")
	f.StringVar(&k.credentials, "s3-credentials", "",
		"read the S3 credentials from `FILE`, not from $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
}

// defineMoved is define for a command that reads the results of a queue.
func (k *storeFlags) defineMoved(f *pflag.FlagSet) {
	k.define(f)
	f.Lookup("artefacts").Usage = "read results that \"queue compact\" has moved from `DIR`, from " +
		"s3://BUCKET/PREFIX, or from the object store of NATS (nats:)"
}

// results returns the results of a queue. It opens the store if there are results that must be read from it.
func (k *storeFlags) results(e *jetstream.Engine) (r *queue.Results, done func()) {
	var store queue.Store
	end := func() {}
	return &queue.Results{Engine: e, Store: func(ctx context.Context) (_ queue.Store, err error) {
		if store != nil {
			return store, nil
		}
		if k.location == "" {
			return nil, usage("results were moved to a store: name it with --artefacts")
		}
		opened, closeStore, err := k.openExisting(ctx, e)
		if err != nil {
			return nil, &fetch.Error{Code: cmp.Or(fetch.CodeOf(err), fetch.ErrFile),
				Err: fmt.Errorf("results were moved to a store (--artefacts): %w", err)}
		}
		store, end = opened, closeStore
		return store, nil
	}}, func() { end() }
}

// open opens the store. It uses e if inQueue returns true.
func (k *storeFlags) open(ctx context.Context, e *jetstream.Engine) (_ queue.Store, done func(), err error) {
	if k.inQueue() {
		o, err := e.Objects(ctx, "")
		return o, func() {}, err
	}
	place, ok := strings.CutPrefix(k.location, "s3://")
	if !ok {
		dir, err := queue.OpenDir(k.location)
		return dir, func() { dir.Close() }, fileError(err)
	}
	bucket, prefix, _ := strings.Cut(place, "/")
	if bucket == "" {
		return nil, nil, usage("--artefacts requires s3://BUCKET/PREFIX")
	}
	s, err := s3.Open(ctx, s3.Options{
		Endpoint: cmp.Or(k.endpoint, os.Getenv("AWS_ENDPOINT_URL")),
		Region:   cmp.Or(k.region, os.Getenv("AWS_REGION")),
		Bucket:   bucket, Prefix: prefix, Credentials: k.credentials,
	})
	return s, func() { s.Close() }, err
}

// openExisting is open for a directory that must exist.
func (k *storeFlags) openExisting(
	ctx context.Context, e *jetstream.Engine,
) (_ queue.Store, done func(), err error) {
	if !strings.Contains(k.location, ":") {
		if _, err := os.Stat(k.location); err != nil {
			return nil, nil, fileError(err) // open would create it
		}
	}
	return k.open(ctx, e)
}

func (k *storeFlags) inQueue() bool { return k.location == "nats:" }

func (a *app) contentCommand() *cobra.Command {
	k, u := &storeFlags{}, &unusedFlags{}
	cmd := &cobra.Command{
		Use:   "content SHA256",
		Short: "Print a stored content, or list unused ones",
		Long: `Print the stored content with a digest.

With --unused, list the stored contents that no result of the queue and its
crawls names: those of lost workers, and those whose results have expired or
were purged. The store must not be shared with queues of other names.`,
		Example: `  urlget queue content "$SHA256" --artefacts s3://bucket/site
  urlget queue content --unused`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case u.list && len(args) > 0:
				return usage("content takes a digest or --unused, not both")
			case u.remove && !u.list:
				return usage("--delete requires --unused")
			case u.older < 0:
				return usage("--older-than must be 0 or more")
			case !u.list && len(args) != 1:
				return usage("content requires a digest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var e *jetstream.Engine
			if k.inQueue() || u.list {
				a.queueFlags.mustExist = true
				queued, done, err := a.queueFlags.open(cmd.Context(), nil)
				var none *jetstream.NoQueueError
				if errors.As(err, &none) && len(none.Crawls) > 0 { // which share the store
					a.queueFlags.crawl = none.Crawls[0]
					queued, done, err = a.queueFlags.open(cmd.Context(), nil)
				}
				if err != nil {
					return err
				}
				defer done()
				e = queued
			}
			s, done, err := k.openExisting(cmd.Context(), e)
			if err != nil {
				return err
			}
			defer done()
			if u.list {
				return a.unused(cmd.Context(), e, s, u)
			}
			return a.content(cmd.Context(), s, args[0])
		},
	}
	a.queueFlags.define(cmd.Flags())
	k.define(cmd.Flags())
	cmd.Flags().BoolVar(&u.list, "unused", false, "list the contents that no result names")
	cmd.Flags().BoolVar(&u.remove, "delete", false, "with --unused, also delete them; no job may be running")
	cmd.Flags().DurationVar(&u.older, "older-than", time.Hour,
		"with --unused, skip contents that were stored within `TIME`")
	return cmd
}

func (a *app) content(ctx context.Context, s queue.Store, sum string) error {
	r, err := s.Get(ctx, sum)
	if err != nil {
		return fileError(err)
	}
	defer r.Close()
	_, err = io.Copy(a.out, r)
	return fileError(err)
}
