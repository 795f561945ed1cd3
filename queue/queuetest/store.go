package queuetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
)

// RunStore tests a store. Open returns an empty store. At the paths of the digests that are keys of
// forged, it has the wrong contents. The path of a body ends with sha256/ab/abcd…
func RunStore(t *testing.T, open func(t *testing.T, forged map[string]string) queue.Store) {
	for name, text := range map[string]string{
		"Empty":         "",
		"OneByte":       "x",
		"SeveralChunks": strings.Repeat("0123456789abcdef", 3<<16) + "and the end", // more than one chunk
	} {
		t.Run("RoundTrip/"+name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, open(t, nil), text)
		})
	}
	for name, text := range map[string]string{"SameLength": "c0ntent", "Shorter": "c", "Empty": ""} {
		t.Run("ForgedBody/"+name, func(t *testing.T) {
			t.Parallel()
			forged(t, open(t, map[string]string{digest("content"): text}), "content")
		})
	}
	for name, test := range map[string]func(*testing.T, queue.Store){
		"ReadBeforeCommit":  readBeforeCommit,
		"Discard":           discarded,
		"InvalidDigest":     invalidDigests,
		"CommitAfterCancel": commitAfterCancel,
		"ListAndRemove":     listAndRemove,
		"Compaction": func(t *testing.T, s queue.Store) {
			RunCompaction(t, NewModel(Options{}).Connect("c"), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, nil))
		})
	}
}

func roundTrip(t *testing.T, s queue.Store, text string) {
	sum := digest(text)
	path := commit(t, s, text, sum)
	if second := commit(t, s, text, sum); second != path || !strings.HasSuffix(path, artefact.Path(sum)) {
		t.Errorf("stored at %q, the second time at %q", path, second)
	}
	if got := get(t, s, sum); got != text {
		t.Errorf("read %d bytes, want %d", len(got), len(text))
	}
}

func forged(t *testing.T, s queue.Store, text string) {
	sum := digest(text)
	r, err := s.Get(t.Context(), sum)
	if err == nil {
		_, err = io.ReadAll(r)
		r.Close()
	}
	if fetch.CodeOf(err) != fetch.ErrChecksum {
		t.Errorf("reading the forged body: %v, want an error of class %s", err, fetch.ErrChecksum)
	}
	for range 2 {
		commit(t, s, text, sum)
		if got := get(t, s, sum); got != text {
			t.Errorf("stored %q, want %q", got, text)
		}
	}
}

func readBeforeCommit(t *testing.T, s queue.Store) {
	spool := begin(t, s)
	io.WriteString(spool, "some text")
	for range 2 {
		r, err := spool.Reader()
		check(t, err)
		if got, err := io.ReadAll(r); string(got) != "some text" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	_, err := spool.Commit(t.Context(), digest("some text"))
	check(t, err)
	spool.Discard()
	if got := get(t, s, digest("some text")); got != "some text" {
		t.Errorf("read %q", got)
	}
}

func discarded(t *testing.T, s queue.Store) {
	spool := begin(t, s)
	io.WriteString(spool, "gone")
	spool.Discard()
	spool.Discard()
	isMissing(t, s, digest("gone"), fetch.ErrNotFound)
}

func invalidDigests(t *testing.T, s queue.Store) {
	for _, sum := range []string{"", "../x", strings.Repeat("z", 64)} {
		spool := begin(t, s)
		if _, err := spool.Commit(t.Context(), sum); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("Commit with digest %q: %v, want an error of class %s", sum, err, fetch.ErrRequest)
		}
		isMissing(t, s, sum, fetch.ErrRequest)
	}
}

func commitAfterCancel(t *testing.T, s queue.Store) {
	spool := begin(t, s)
	io.WriteString(spool, "late")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := spool.Commit(ctx, digest("late")); !errors.Is(err, context.Canceled) &&
		fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Errorf("Commit with a cancelled context: %v", err)
	}
	spool.Discard()
	isMissing(t, s, digest("late"), fetch.ErrNotFound)
}

func listAndRemove(t *testing.T, s queue.Store) {
	l, ok := s.(queue.Lister)
	if !ok {
		t.Skip("the store is not a queue.Lister")
	}
	list := func() map[string]int64 {
		sizes := map[string]int64{}
		for c, err := range l.List(t.Context()) {
			check(t, err)
			if old := time.Since(c.Time); old > time.Hour || old < -time.Hour {
				t.Errorf("%s was stored at %v", c.SHA256, c.Time)
			}
			sizes[c.SHA256] = c.Size
		}
		return sizes
	}
	if got := list(); len(got) != 0 {
		t.Errorf("an empty store has %v", got)
	}
	want := map[string]int64{}
	for _, text := range []string{"", "one", "another"} {
		commit(t, s, text, digest(text))
		want[digest(text)] = int64(len(text))
	}
	if got := list(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range l.List(t.Context()) {
		break
	}
	for range 2 { // the second time there is none
		check(t, l.Remove(t.Context(), digest("one")))
	}
	delete(want, digest("one"))
	if got := list(); !maps.Equal(got, want) {
		t.Errorf("after Remove: %v, want %v", got, want)
	}
	isMissing(t, s, digest("one"), fetch.ErrNotFound)
	commit(t, s, "one", digest("one"))
	if got := get(t, s, digest("one")); got != "one" {
		t.Errorf("stored again: %q", got)
	}
	if err := l.Remove(t.Context(), "../x"); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("Remove of an invalid digest: %v, want an error of class %s", err, fetch.ErrRequest)
	}
}

// isMissing checks that Get fails with an error of a class.
func isMissing(t *testing.T, s queue.Store, sum string, want fetch.Code) {
	t.Helper()
	r, err := s.Get(t.Context(), sum)
	if err == nil {
		r.Close()
	}
	if fetch.CodeOf(err) != want {
		t.Errorf("get %q: %v, want an error of class %s", sum, err, want)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func begin(t *testing.T, s queue.Store) queue.Spool {
	t.Helper()
	spool, err := s.Begin()
	check(t, err)
	t.Cleanup(spool.Discard)
	return spool
}

func commit(t *testing.T, s queue.Store, text, sum string) string {
	t.Helper()
	spool := begin(t, s)
	_, err := io.Copy(spool, strings.NewReader(text))
	check(t, err)
	path, err := spool.Commit(t.Context(), sum)
	check(t, err)
	return path
}

func get(t *testing.T, s queue.Store, sum string) string {
	t.Helper()
	r, err := s.Get(t.Context(), sum)
	check(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	check(t, err)
	return string(text)
}
