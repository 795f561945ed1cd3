package main

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// TestUnusedContentsAreNamedMeanwhile lets a job begin, or begin and end, while the contents are listed. The
// body that it retrieved may have been stored before.
func TestUnusedContentsAreNamedMeanwhile(t *testing.T) {
	t.Parallel()
	sums := []string{strings.Repeat("a", 64), strings.Repeat("b", 64)}
	for name, tt := range map[string]struct {
		meanwhile func(context.Context, *jetstream.Engine) error
		removed   []string
		err       error
	}{
		"nothing": {func(context.Context, *jetstream.Engine) error { return nil }, sums, nil},
		"a result": {func(ctx context.Context, e *jetstream.Engine) error {
			return e.PutResult(ctx, "2", []byte(`{"sha256":"`+sums[0]+`"}`))
		}, sums[1:], nil},
		"a job": {func(ctx context.Context, e *jetstream.Engine) error {
			_, _, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("http://h.example/")})
			return err
		}, nil, errBusy},
	} {
		server, err := embedded.Start(t.TempDir(), true)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		e, err := jetstream.Open(t.Context(), jetstream.Options{InProcess: server, URL: server.URL()})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.PutResult(t.Context(), "1", []byte(`{"sha256":"c"}`)); err != nil {
			t.Fatal(err)
		}
		s := &listed{sums: sums, meanwhile: func(ctx context.Context) error { return tt.meanwhile(ctx, e) }}
		var out strings.Builder
		err = (&app{out: &out, err: &out}).unused(t.Context(), e, s, &unusedFlags{list: true, remove: true})
		if !errors.Is(err, tt.err) || !slices.Equal(s.removed, tt.removed) {
			t.Errorf("%s: removed %q, %v, want %q; %s", name, s.removed, err, tt.removed, &out)
		}
	}
}

type listed struct {
	queue.Store
	sums, removed []string
	meanwhile     func(context.Context) error
}

func (l *listed) List(ctx context.Context) iter.Seq2[queue.Content, error] {
	return func(yield func(queue.Content, error) bool) {
		err := l.meanwhile(ctx)
		for _, sum := range l.sums {
			if !yield(queue.Content{SHA256: sum}, err) {
				return
			}
		}
	}
}

func (l *listed) Remove(_ context.Context, sum string) error {
	l.removed = append(l.removed, sum)
	return nil
}
