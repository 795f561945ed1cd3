package jetstream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// streamsOf returns the names of all streams of a server.
func streamsOf(t *testing.T, s *natsServer) (names []string) {
	t.Helper()
	conn, err := nats.Connect(s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	api, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	list := api.StreamNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	slices.Sort(names)
	return names
}

func deleteStream(t *testing.T, s *natsServer, name string) {
	t.Helper()
	conn, err := nats.Connect(s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	api, err := js.New(conn)
	if err == nil {
		err = api.DeleteStream(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestExistingCreatesNothing opens a queue, a crawl and a queue that lacks a stream.
func TestExistingCreatesNothing(t *testing.T) {
	t.Parallel()
	s := startLibrary(t, "jetstream { store_dir: "+t.TempDir()+" }")
	open := func(crawl string, existing bool) error {
		e, err := jetstream.Open(t.Context(), jetstream.Options{URL: s.url, Crawl: crawl, Existing: existing})
		if err == nil {
			err = e.Close()
		}
		return err
	}
	var none *jetstream.NoQueueError
	if err := open("", true); !errors.As(err, &none) || fetch.CodeOf(err) != fetch.ErrNotFound || none.Crawls != nil {
		t.Errorf("a queue that does not exist: %v", err)
	}
	if names := streamsOf(t, s); names != nil {
		t.Errorf("created %s", names)
	}
	if err := open("docs", true); !errors.Is(err, queue.ErrNoCrawl) {
		t.Errorf("a crawl that does not exist: %v", err)
	}
	if err := open("docs", false); err != nil {
		t.Fatal(err)
	}
	if err := open("docs", true); err != nil {
		t.Errorf("a crawl without a queue: %v", err)
	}
	crawl := streamsOf(t, s)
	if err := open("", true); !errors.As(err, &none) || !slices.Equal(none.Crawls, []string{"docs"}) {
		t.Errorf("a queue that has only a crawl: %v", err)
	}
	if names := streamsOf(t, s); !slices.Equal(names, crawl) {
		t.Errorf("the streams are %s after %s", names, crawl)
	}
	docs, err := jetstream.Open(t.Context(), jetstream.Options{URL: s.url, Crawl: "docs", Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(docs.SetHostLimits(t.Context(), []byte("a 1 5s\n")), docs.Close()); err != nil {
		t.Fatal(err)
	}
	if err := open("", true); !errors.As(err, &none) || !slices.Equal(none.Crawls, []string{"docs"}) {
		t.Errorf("a queue that has only a crawl with limits of hosts: %v", err)
	}
	if err := open("", false); err != nil {
		t.Fatal(err)
	}
	if err := open("", true); err != nil {
		t.Errorf("a queue that exists: %v", err)
	}
	deleteStream(t, s, "urlget-jobs-normal")
	before := streamsOf(t, s)
	if err := open("", true); !errors.Is(err, jetstream.ErrIncomplete) || !strings.Contains(err.Error(), "urlget-jobs-normal") {
		t.Errorf("a queue without a stream: %v", err)
	}
	if names := streamsOf(t, s); !slices.Equal(names, before) {
		t.Errorf("the streams are %s after %s", names, before)
	}
}

// TestReplicasMustBeThoseOfTheQueue opens a queue on one server.
func TestReplicasMustBeThoseOfTheQueue(t *testing.T) {
	t.Parallel()
	s := startLibrary(t, "jetstream { store_dir: "+t.TempDir()+" }")
	for _, tt := range []struct {
		replicas int
		want     fetch.Code
	}{{1, ""}, {0, ""}, {3, fetch.ErrRequest}} {
		e, err := jetstream.Open(t.Context(), jetstream.Options{URL: s.url, Replicas: tt.replicas})
		if err == nil {
			e.Close()
		}
		if fetch.CodeOf(err) != tt.want {
			t.Errorf("%d replicas: %v, want class %q", tt.replicas, err, tt.want)
		}
	}
}
