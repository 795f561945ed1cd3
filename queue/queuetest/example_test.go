package queuetest_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// The test of an engine. This example tests the model itself.
func ExampleRun() {
	testEngine := func(t *testing.T) {
		queuetest.Run(t, func(*testing.T) (connect func() queue.Admin) {
			m := queuetest.NewModel(queuetest.Options{Limits: queue.Limits{AckWait: time.Second, LeaseTTL: time.Second}})
			return func() queue.Admin { return m.Connect("") }
		})
	}
	_ = testEngine // the real name is TestEngine, in a file whose name ends with _test.go
}

// The first submission of a connection is lost.
func ExampleModel() {
	lost := false
	m := queuetest.NewModel(queuetest.Options{
		Timeout: time.Millisecond,
		Fault: func(_, op, _ string) queuetest.Fault {
			if op == "submit" && !lost {
				lost = true
				return queuetest.Fault{Lost: true}
			}
			return queuetest.Fault{}
		},
	})
	c := m.Connect("client")
	defer c.Close()
	ctx := context.Background()
	for range 2 {
		_, err := c.Submit(ctx, queue.High, "key", []byte("a job"))
		fmt.Println(err != nil)
	}
	status, err := c.Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Waiting[queue.High])
	// Output:
	// true
	// false
	// 1
}
