package jetstream_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/queuetest"
)

// Some forged objects are valid for NATS, but have the content of another digest. Others have the
// right digest in their metadata and the wrong content.
func TestObjects(t *testing.T) {
	t.Parallel()
	for name, digest := range map[string]func(sum []byte, forged string) []byte{
		"Whole":       func(_ []byte, forged string) []byte { other := sha256.Sum256([]byte(forged)); return other[:] },
		"WrongDigest": func(sum []byte, _ string) []byte { return sum },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queuetest.RunStore(t, func(t *testing.T, forged map[string]string) queue.Store {
				s := serve(t)
				e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
				o, err := e.Objects(t.Context(), t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				for sum, text := range forged {
					want, err := hex.DecodeString(sum)
					if err != nil {
						t.Fatal(err)
					}
					if err := e.Forge(t.Context(), artefact.Path(sum), text, digest(want, text)); err != nil {
						t.Fatal(err)
					}
				}
				return o
			})
		})
	}
}

// TestConcurrentUploadsOfOneBody stores one body from several workers, each with its own
// connection.
func TestConcurrentUploadsOfOneBody(t *testing.T) {
	t.Parallel()
	s := serve(t)
	data := make([]byte, 1<<20+5)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	sum := sha256.Sum256(data)
	dir := t.TempDir()
	var group sync.WaitGroup
	var one *jetstream.Engine
	for range 4 {
		e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
		one = e
		group.Go(func() {
			o, err := e.Objects(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			spool, err := o.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			spool.Write(data)
			if _, err := spool.Commit(t.Context(), hex.EncodeToString(sum[:])); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := one.Messages(t.Context(), "OBJ_urlget"); n != 10 { // nine chunks and the metadata
		t.Errorf("%d messages, want 10", n)
	}
	o, err := one.Objects(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Get(t.Context(), hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d temporary files left", len(left))
	}
	if _, err := o.Get(t.Context(), hex.EncodeToString(make([]byte, 32))); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("missing body: %v", err)
	}
}
