package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A drippingDriver sends a byte a second without end for hosts whose names begin with "drip", and
// supports ranges. Other hosts respond at once.
type drippingDriver struct{}

func (drippingDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if !strings.HasPrefix(req.URL.Host(), "drip") {
		return fastDriver{}.Open(ctx, req)
	}
	m := fetch.Meta{Size: -1, Validator: fetch.Validator{ETag: `"a"`}, Range: req.Range}
	return &fetch.Response{Meta: m, Body: &closer{drippingReader{ctx}, func() {}}}, nil
}

type drippingReader struct{ ctx context.Context }

func (r drippingReader) Read(p []byte) (int, error) {
	if err := retry.Sleep(r.ctx, time.Second); err != nil {
		return 0, err
	}
	return copy(p, "x"), nil
}

// Servers that drip lose the slots of a worker, and their jobs end.
func TestDrippingServersHoldNoSlot(t *testing.T) {
	t.Parallel()
	const slots, quick = 4, 40
	for name, tt := range map[string]struct {
		driver  fetch.Driver
		maxTime time.Duration
		first   time.Duration // the end of the last quick job
		message string
		dead    int
	}{
		"speed limit": {driver: middleware.SpeedLimit(100, 5*time.Minute)(drippingDriver{}), first: 6 * time.Minute,
			message: "bytes in 5m0s, less than 100 bytes per second", dead: slots},
		"max time": {driver: drippingDriver{}, maxTime: 30 * time.Minute, first: 31 * time.Minute, message: "not finished within 30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := queuetest.NewModel(queuetest.Options{}).Connect("a")
				submit := func(host string) {
					if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse("http://" + host + "/")}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range slots {
					submit(fmt.Sprint("drip", i))
				}
				for i := range quick {
					submit(fmt.Sprint("quick", i))
				}
				start := time.Now()
				w := queue.Worker{Parallel: slots, MaxTime: tt.maxTime}
				withWorker(t, e, tt.driver, w, func(ctx context.Context) {
					saved, failed := 0, 0
					for r := range e.Results(ctx, 0, true) {
						var ev struct{ Event, URL, Class, Message string }
						if err := json.Unmarshal(r.Data, &ev); err != nil {
							t.Fatal(err)
						}
						switch {
						case ev.Event == "saved" && strings.Contains(ev.URL, "quick"):
							if saved++; saved == quick && time.Since(start) > tt.first {
								t.Errorf("the quick jobs took %v", time.Since(start))
							}
						case ev.Event == "failed" && ev.Class == "network" && strings.Contains(ev.Message, tt.message):
							failed++
						default:
							t.Errorf("%s", r.Data)
						}
						if saved == quick && failed == slots {
							break
						}
					}
				})
				dead := 0
				for range e.Dead(t.Context(), 0) {
					dead++
				}
				if dead != tt.dead {
					t.Errorf("%d dead letters, want %d", dead, tt.dead)
				}
			})
		})
	}
}
