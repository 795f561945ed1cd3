//go:build unix

package main

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/urlget/urlget/serve"
)

// TestSamplesAreForThePageOfAQueue reads a line of queue watch --json as urlget serve does.
func TestSamplesAreForThePageOfAQueue(t *testing.T) {
	t.Parallel()
	rate, remaining := 2.5, 4.0
	now := time.Date(2026, time.November, 28, 3, 0, 0, 0, time.UTC)
	line, err := json.Marshal(&sample{Time: now, State: "running", Waiting: 1, Taken: 2, Results: 3, Dead: 4, Rate: &rate, Remaining: &remaining})
	if err != nil {
		t.Fatal(err)
	}
	var got serve.QueueSample
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	want := serve.QueueSample{Time: now, State: "running", Waiting: 1, Taken: 2, Results: 3, Dead: 4, Rate: &rate, Remaining: &remaining}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, want %+v", line, got, want)
	}
}
