package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// TestCancelChoosesJobs cancels jobs by ID, host and pattern, and leaves all others and messages
// that are not jobs.
func TestCancelChoosesJobs(t *testing.T) {
	t.Parallel()
	urls := []string{"http://a/1", "http://b/2", "http://b:81/3"}
	for name, tt := range map[string]struct {
		ids    []int // numbers of the jobs whose IDs are arguments
		chosen selection
		left   []string
		wrong  string
	}{
		"one ID":  {[]int{1}, selection{}, []string{"http://a/1", "http://b:81/3"}, ""},
		"two IDs": {[]int{0, 2}, selection{}, []string{"http://b/2"}, ""},
		"host":    {nil, selection{host: "B"}, []string{"http://a/1"}, ""},
		"pattern": {nil, selection{url: "*/3"}, []string{"http://a/1", "http://b/2"}, ""},
		"both":    {nil, selection{host: "b", url: "*/2"}, []string{"http://a/1", "http://b:81/3"}, ""},
		"none":    {nil, selection{}, urls, "requires IDs"},
		"mixed":   {[]int{1}, selection{host: "b"}, urls, "not both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, e := t.Context(), queuetest.NewModel(queuetest.Options{}).Connect("a")
			var ids []string
			for i, u := range urls {
				id, _, err := queue.Submit(ctx, e, queue.Priorities[i], &job.Job{URL: uri.MustParse(u)})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if _, err := e.Submit(ctx, queue.Low, "noise", []byte("noise")); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, i := range tt.ids {
				args = append(args, ids[i])
			}
			var messages strings.Builder
			a := &app{err: &messages}
			err := a.cancel(ctx, &queue.Results{Engine: e}, args, &tt.chosen)
			if got := fmt.Sprint(err); tt.wrong == "" && err != nil || !strings.Contains(got, tt.wrong) {
				t.Errorf("%v, want %q", err, tt.wrong)
			}
			left, noise := waiting(ctx, t, e)
			slices.Sort(left)
			if !slices.Equal(left, tt.left) || noise != 1 {
				t.Errorf("%q and %d other messages are left, want %q", left, noise, tt.left)
			}
			if s, err := e.Status(ctx); err != nil || int(s.Results) != len(urls)-len(tt.left) {
				t.Errorf("%+v, %v", s, err)
			}
			if tt.wrong == "" && !strings.Contains(messages.String(), fmt.Sprintf("%d cancelled", len(urls)-len(tt.left))) {
				t.Errorf("printed %q", &messages)
			}
		})
	}
}

// waiting returns the URLs of the unfinished jobs, and the number of other messages.
func waiting(ctx context.Context, t *testing.T, e queue.Admin) (urls []string, others int) {
	t.Helper()
	for j, err := range unfinished(ctx, e, &selection{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case j.job == nil:
			others++
		default:
			urls = append(urls, j.URL)
		}
	}
	return urls, others
}
