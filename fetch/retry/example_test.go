package retry_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch/retry"
)

// Next computes the pauses of a program's own requests. At the second failure, the server asks for a
// pause.
func ExamplePolicy() {
	busy, gone := errors.New("busy"), errors.New("gone")
	p := retry.Policy{
		Tries: 4, Wait: time.Second, MaxWait: 10 * time.Second, MaxRetryAfter: time.Minute, Jitter: retry.NoJitter,
		Transient: func(err error) (time.Duration, bool) {
			if err == busy {
				return 30 * time.Second, true
			}
			return 0, err != gone
		},
	}
	fmt.Println(p.Next(1, errors.New("connection reset by peer")))
	fmt.Println(p.Next(2, busy))
	fmt.Println(p.Next(3, gone))
	// Output:
	// 1s true
	// 30s true
	// 0s false
}
