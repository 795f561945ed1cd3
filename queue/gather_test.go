package queue

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

func TestResultsGather(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		jobs, running int           // jobs that end at once, and others
		want          []int         // published at once, and then
		after         time.Duration // the last ones
	}{
		{"a lone job does not wait", 1, 0, []int{1}, 0},
		{"the last job does not wait", 3, 0, []int{3}, 0},
		{"others are awaited", 3, 1, []int{0, 3}, gatherFor},
		{"a full batch does not wait", 70, 1, []int{64, 6}, gatherFor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testGather(t, tt.jobs, tt.running, tt.want, tt.after) })
		})
	}
}

func testGather(t *testing.T, jobs, running int, want []int, after time.Duration) {
	r := &run{unfinished: map[*task]bool{}}
	var finished atomic.Int32
	groups := int32(0)
	r.gathering.finish = func(jobs []Finished) []error {
		finished.Add(1)
		return make([]error, len(jobs))
	}
	tasks := make([]*task, jobs+running)
	for i := range tasks {
		tasks[i] = &task{run: r, sub: &submission{Job: &job.Job{URL: uri.MustParse("http://h/")}}}
		r.unfinished[tasks[i]] = true
	}
	start, published := time.Now(), make(chan time.Duration, jobs)
	for _, one := range tasks[:jobs] {
		go func() {
			if err := one.gather(&job.Result{}, ""); err != nil {
				t.Error(err)
			}
			published <- time.Since(start)
		}()
	}
	for _, n := range want {
		groups += int32(min(n, 1))
		synctest.Wait()
		if len(published) != n {
			t.Errorf("%d results after %v, want %d", len(published), time.Since(start), n)
		}
		for len(published) > 0 {
			if at := <-published; at > after {
				t.Errorf("a result after %v, want %v", at, after)
			}
		}
		time.Sleep(gatherFor)
	}
	for _, one := range tasks {
		one.drop()
	}
	if n := finished.Load(); n != groups {
		t.Errorf("%d groups, want %d", n, groups)
	}
	if r.settled != 0 {
		t.Error(fmt.Sprint(r.settled, " jobs count as settled after the last one"))
	}
}
