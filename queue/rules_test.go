package queue_test

import (
	"context"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl/robots"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// Workers share the robots.txt of a server and failures to retrieve it, but not refusals by the
// policy of one worker.
func TestWorkersShareRobots(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		err      error
		requests int
		want     fetch.Code
	}{
		{"rules", nil, 1, ""},
		{"failure", &fetch.Error{Code: fetch.ErrServer}, 1, fetch.ErrServer},
		{"policy error", &fetch.Error{Code: fetch.ErrPolicy}, 2, fetch.ErrPolicy},
	} {
		m, requests := queuetest.NewModel(queuetest.Options{}), 0
		for _, name := range []string{"a", "b"} {
			share := queue.ShareRules(m.Connect(name), "urlget")
			_, err := share(t.Context(), "http://h", func(context.Context) (*robots.Rules, error) {
				requests++
				if tt.err != nil {
					return nil, tt.err
				}
				return robots.Read(strings.NewReader("User-agent: *\nDisallow: /no"), "urlget")
			})
			if fetch.CodeOf(err) != tt.want {
				t.Errorf("%s: %s got %v, want class %q", tt.name, name, err, tt.want)
			}
		}
		if requests != tt.requests {
			t.Errorf("%s: %d requests for robots.txt, want %d", tt.name, requests, tt.requests)
		}
	}
}
