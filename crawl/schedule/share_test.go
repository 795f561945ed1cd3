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

// TestHostsThatAreLeftAloneKeepNobodyWaiting queues more tasks of paused hosts than the scheduler
// may hold, and then tasks of a host that is not paused.
func TestHostsThatAreLeftAloneKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ waiting, busy int }{{2, 1}, {3, 2}, {5, 4}, {6, 2}, {40, 15}, {1000, 400}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(&Options{Waiting: tt.waiting, Host: Limits{Parallel: 2}})
			left := map[string]int{}
			var hosts []string
			for n := range tt.busy {
				host := string(rune('a'+n%26)) + string(rune('a'+n/26))
				s.Failed(host, &fetch.Error{Code: fetch.ErrBusy, RetryAfter: time.Minute})
				hosts = append(hosts, host)
				left[host] = 10
			}
			hosts = append(hosts, "good")
			left["good"] = 20
			begun := time.Now()
			var good atomic.Int64
			err := s.Run(t.Context(), source(func(_ context.Context, room func(string) bool) (Task, error) {
				over := true
				for _, host := range hosts {
					if left[host] == 0 {
						continue
					}
					over = false
					if room(host) {
						left[host]--
						return Task{Host: host, Do: func(context.Context) error {
							if host == "good" {
								good.Store(int64(time.Since(begun)))
							}
							return nil
						}}, nil
					}
				}
				if over {
					return Task{}, io.EOF
				}
				return Task{}, ErrNone
			}))
			if good := time.Duration(good.Load()); err != nil || good > time.Second {
				t.Errorf("%d may wait, %d hosts are busy: %v, and the other one's tasks had ended after %v", tt.waiting, tt.busy, err, good)
			}
		})
	}
}
