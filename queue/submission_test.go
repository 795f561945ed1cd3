package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

func TestDirStoresBodyOnce(t *testing.T) {
	t.Parallel()
	dir, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	sum := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for range 2 {
		s, err := dir.Begin()
		if err != nil {
			t.Fatal(err)
		}
		s.Write([]byte("te"))
		s.Write([]byte("st"))
		path, err := s.Commit(t.Context(), sum)
		if err != nil || path != "sha256/9f/"+sum {
			t.Errorf("%q, %v", path, err)
		}
		s.Discard()
	}
	s, err := dir.Begin()
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("half"))
	s.Discard()
	if _, err := s.Commit(t.Context(), "../../../x"); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("invalid digest: %v, want an error of class %s", err, fetch.ErrRequest)
	}
	files, err := dir.Files()
	if err != nil || len(files) != 1 || files[0] != "sha256/9f/"+sum {
		t.Errorf("files %v, %v", files, err)
	}
}

// flakyEngine is an engine that loses its first responses to Submit, or returns an error.
type flakyEngine struct {
	queue.Engine
	lostResponses int
	err           error
	calls         int
}

func (s *flakyEngine) Submit(ctx context.Context, p queue.Priority, key string, data []byte) (bool, error) {
	s.calls++
	if s.err != nil {
		return false, s.err
	}
	duplicate, err := s.Engine.Submit(ctx, p, key, data)
	if s.calls <= s.lostResponses {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return duplicate, err
}

func TestSubmitRetries(t *testing.T) {
	t.Parallel()
	down := &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("down")}
	full := &fetch.Error{Code: fetch.ErrServer, Retry: true, Err: fmt.Errorf("no: %w", queue.ErrFull)}
	seed := uri.MustParse("http://h/")
	kinds := map[string]func(context.Context, queue.Engine) (bool, error){
		"job": func(ctx context.Context, e queue.Engine) (bool, error) {
			_, duplicate, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: seed})
			return duplicate, err
		},
		"page": func(ctx context.Context, e queue.Engine) (bool, error) {
			return (&queue.Crawl{Token: "t"}).Submit(ctx, e, queue.Normal, seed, fetch.Traits{})
		},
	}
	for name, tt := range map[string]struct {
		flakyEngine
		want  error
		calls func(int) bool
	}{
		"success":        {flakyEngine{}, nil, func(n int) bool { return n == 1 }},
		"lost responses": {flakyEngine{lostResponses: 2}, nil, func(n int) bool { return n == 3 }},
		"down":           {flakyEngine{err: down}, down, func(n int) bool { return n > 10 && n < 100 }},
		"full":           {flakyEngine{err: full}, queue.ErrFull, func(n int) bool { return n == 1 }},
		"refused":        {flakyEngine{err: &fetch.Error{Code: fetch.ErrAuth}}, &fetch.Error{Code: fetch.ErrAuth}, func(n int) bool { return n == 1 }},
	} {
		for kind, submit := range kinds {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					e := tt.flakyEngine
					e.Engine = queuetest.NewModel(queuetest.Options{}).Connect("a")
					start := time.Now()
					duplicate, err := submit(t.Context(), &e)
					if !errors.Is(err, tt.want) && fetch.CodeOf(err) != fetch.CodeOf(tt.want) || duplicate || !tt.calls(e.calls) {
						t.Errorf("duplicate %v, %v after %d calls", duplicate, err, e.calls)
					}
					if elapsed := time.Since(start); elapsed > 50*time.Second {
						t.Errorf("took %v", elapsed)
					}
				})
			})
		}
	}
}
