package jetstream_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/queuetest"
)

// A program reads results, and others are moved to the object store and removed while it does so. It reads each
// once, also those that the server has sent before.
func TestReaderDuringACompaction(t *testing.T) {
	t.Parallel()
	const n, at = 3000, 100
	s := serve(t)
	opts := jetstream.Options{InProcess: s, URL: s.URL()}
	e, other := open(t, opts), open(t, opts)
	store, err := e.Objects(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := e.PutResult(t.Context(), fmt.Sprintf("%032x", i), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 { // the second time, all but one are in segments
		r := &queue.Results{Engine: queuetest.Age(e, 2*queue.MinAge),
			Store: func(context.Context) (queue.Store, error) { return store, nil }}
		read := 0
		for m, err := range r.All(t.Context(), 0, false) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%032x", read); m.ID != want {
				t.Fatalf("result %d is %s", read, m.ID)
			}
			if read++; read != at || round > 0 {
				continue
			}
			done, err := (&queue.Compaction{Age: queue.MinAge, Least: 1, Most: 500}).Run(t.Context(),
				queuetest.Age(other, 2*queue.MinAge), store)
			if err != nil || done.Removed != n-1 {
				t.Fatalf("%+v, %v", done, err)
			}
		}
		if read != n {
			t.Errorf("%d results, want %d", read, n)
		}
	}
}
