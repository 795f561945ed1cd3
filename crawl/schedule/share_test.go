package schedule

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// TestPausedHostsDoNotBlockOthers queues more tasks of paused hosts than the scheduler may hold,
// and then tasks of a host that is not paused.
func TestPausedHostsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ waiting, busy int }{{2, 1}, {3, 2}, {5, 4}, {6, 2}, {40, 15}, {1000, 400}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(&Options{Waiting: tt.waiting, Host: Limits{Parallel: 2}})
			tasksLeft := map[string]int{}
			var hosts []string
			for n := range tt.busy {
				host := string(rune('a'+n%26)) + string(rune('a'+n/26))
				s.Failed(host, &fetch.Error{Code: fetch.ErrBusy, RetryAfter: time.Minute})
				hosts = append(hosts, host)
				tasksLeft[host] = 10
			}
			hosts = append(hosts, "good")
			tasksLeft["good"] = 20
			start := time.Now()
			var idle atomic.Int64
			err := s.Run(t.Context(), source(func(_ context.Context, room func(string) bool) (Task, error) {
				empty := true
				for _, host := range hosts {
					if tasksLeft[host] == 0 {
						continue
					}
					empty = false
					if room(host) {
						tasksLeft[host]--
						return Task{Host: host, Do: func(context.Context) error {
							if host == "good" {
								idle.Store(int64(time.Since(start)))
							}
							return nil
						}}, nil
					}
				}
				if empty {
					return Task{}, io.EOF
				}
				return Task{}, ErrNone
			}))
			if idle := time.Duration(idle.Load()); err != nil || idle > time.Second {
				t.Errorf("Waiting %d, %d busy hosts: %v; the tasks of the idle host ended after %v", tt.waiting, tt.busy, err, idle)
			}
		})
	}
}
