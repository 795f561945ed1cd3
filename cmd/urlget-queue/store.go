package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/s3"
)

// keeping is what the flags say of where contents are kept.
type keeping struct {
	where                         string
	endpoint, region, credentials string
}

func (k *keeping) define(f *pflag.FlagSet) {
	f.StringVar(&k.where, "artefacts", "artefacts", "keep contents below `DIR`, in s3://BUCKET/PREFIX, or in the object store of NATS: nats:")
	f.StringVar(&k.endpoint, "s3-endpoint", "", "the store of the bucket is at `URL` (default $AWS_ENDPOINT_URL, or Amazon's)")
	f.StringVar(&k.region, "s3-region", "", "the `NAME` of its region (default $AWS_REGION)")
	f.StringVar(&k.credentials, "s3-credentials", "", "log in there as `FILE` says, not $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
}

// A store keeps contents and gives them back.
type store interface {
	queue.Store
	Get(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// nothing is a store that has nothing to close.
type nothing struct{}

func (nothing) Close() error { return nil }

// open opens the store. What it needs of the queue comes from queue.
func (k *keeping) open(ctx context.Context, queued func() (*jetstream.Engine, error)) (store, io.Closer, error) {
	if k.where == "nats:" {
		e, err := queued()
		if err != nil {
			return nil, nil, err
		}
		o, err := e.Objects(ctx, "")
		return o, nothing{}, err
	}
	place, ok := strings.CutPrefix(k.where, "s3://")
	if !ok {
		dir, err := queue.OpenDir(k.where)
		return dir, dir, fileError(err)
	}
	bucket, prefix, _ := strings.Cut(place, "/")
	if bucket == "" {
		return nil, nil, usage("--artefacts: want s3://BUCKET/PREFIX")
	}
	s, err := s3.Open(ctx, s3.Options{Endpoint: cmp.Or(k.endpoint, os.Getenv("AWS_ENDPOINT_URL")), Region: cmp.Or(k.region, os.Getenv("AWS_REGION")),
		Bucket: bucket, Prefix: prefix, Credentials: k.credentials})
	return s, s, err
}

func (a *app) contentCommand() *cobra.Command {
	k := &keeping{}
	cmd := &cobra.Command{
		Use:   "content SHA256",
		Short: "Print the content with a digest, from where it is kept",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("content: want a digest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.Contains(k.where, ":") {
				if _, err := os.Stat(k.where); err != nil {
					return fileError(err) // it would be made
				}
			}
			done := func() {}
			defer func() { done() }()
			s, closer, err := k.open(cmd.Context(), func() (e *jetstream.Engine, err error) {
				e, done, err = a.reach.open(cmd.Context(), nil)
				if err != nil {
					done = func() {}
				}
				return e, err
			})
			if err != nil {
				return err
			}
			defer closer.Close()
			return a.content(cmd.Context(), s, args[0])
		},
	}
	a.reach.define(cmd.Flags())
	k.define(cmd.Flags())
	return cmd
}

func (a *app) content(ctx context.Context, s store, sum string) error {
	r, err := s.Get(ctx, sum)
	if err != nil {
		return fileError(err)
	}
	defer r.Close()
	if _, err = io.Copy(a.out, r); err != nil && !errors.Is(err, context.Canceled) && fetch.CodeOf(err) == "" {
		return fileError(err)
	}
	return err
}
