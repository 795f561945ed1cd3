package schedule_test

import (
	"context"
	"fmt"
	"io"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Run the URLs of a list, two at once but only one per host.
func Example() {
	urls := []string{"x-made://one.example/a", "x-made://two.example/b", "x-made://one.example/c"}
	do := func(_ context.Context, u uri.URI) error { // a program would call job.Runner.Run and return Result.Err
		fmt.Println(u)
		return nil
	}
	list := func(context.Context, func(string) bool) (schedule.Task, error) {
		if len(urls) == 0 {
			return schedule.Task{}, io.EOF
		}
		u, err := uri.Parse(urls[0])
		urls = urls[1:]
		return schedule.Task{
			Host: u.Host(),
			Do:   func(ctx context.Context) error { return do(ctx, u) },
		}, err
	}
	s := schedule.New(&schedule.Options{Parallel: 2, Host: schedule.Limits{Parallel: 1}})
	err := s.Run(context.Background(), list)
	fmt.Println(fetch.CodeOf(err), err)
	// Unordered output:
	// x-made://one.example/a
	// x-made://two.example/b
	// x-made://one.example/c
	//  <nil>
}
