package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
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
	tasks := make([]*task, jobs+running)
	for i := range tasks {
		tasks[i] = &task{run: r}
		r.unfinished[tasks[i]] = true
	}
	start, published := time.Now(), make(chan time.Duration, jobs)
	for _, one := range tasks[:jobs] {
		go func() {
			one.gather()
			published <- time.Since(start)
		}()
	}
	for _, n := range want {
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
	if r.settled != 0 {
		t.Error(fmt.Sprint(r.settled, " jobs count as settled after the last one"))
	}
}
