package queuetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/queue"
)

// A Store is a queue.Store whose contents can be had back.
type Store interface {
	queue.Store
	Get(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// RunStore tests a store. Open returns one with nothing in it.
func RunStore(t *testing.T, open func(t *testing.T) Store) {
	for name, text := range map[string]string{
		"Nothing":  "",
		"AByte":    "x",
		"MoreThan": strings.Repeat("0123456789abcdef", 3<<16) + "and the end", // more than a piece
	} {
		t.Run("WhatIsKeptComesBack/"+name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			sum := digest(text)
			path := keep(t, s, text, sum)
			if again := keep(t, s, text, sum); again != path || !strings.HasSuffix(path, queue.ArtefactPath(sum)) {
				t.Errorf("kept at %q, and the second time at %q", path, again)
			}
			if got := get(t, s, sum); got != text {
				t.Errorf("%d bytes came back, want %d", len(got), len(text))
			}
		})
	}
	t.Run("WhatWasWrittenIsReadBeforeItIsKept", func(t *testing.T) {
		t.Parallel()
		s := open(t)
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
			t.Errorf("%q came back", got)
		}
	})
	t.Run("WhatIsDiscardedIsNotKept", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		spool := begin(t, s)
		io.WriteString(spool, "gone")
		spool.Discard()
		spool.Discard()
		if r, err := s.Get(t.Context(), digest("gone")); err == nil {
			r.Close()
			t.Error("it is there")
		}
	})
	t.Run("WhatIsNoDigestIsRefused", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, sum := range []string{"", "../x", strings.Repeat("z", 64)} {
			spool := begin(t, s)
			if _, err := spool.Commit(t.Context(), sum); err == nil {
				t.Errorf("kept under %q", sum)
			}
			if r, err := s.Get(t.Context(), sum); err == nil {
				r.Close()
				t.Errorf("there is %q", sum)
			}
		}
	})
	t.Run("AContextThatEndedKeepsNothing", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		spool := begin(t, s)
		io.WriteString(spool, "late")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := spool.Commit(ctx, digest("late")); err == nil {
			t.Error("kept")
		}
		spool.Discard()
	})
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

func keep(t *testing.T, s queue.Store, text, sum string) string {
	t.Helper()
	spool := begin(t, s)
	_, err := io.Copy(spool, strings.NewReader(text))
	check(t, err)
	path, err := spool.Commit(t.Context(), sum)
	check(t, err)
	return path
}

func get(t *testing.T, s Store, sum string) string {
	t.Helper()
	r, err := s.Get(t.Context(), sum)
	check(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	check(t, err)
	return string(text)
}

// RunForged tests that a Store does not take something else for a content because it is there under
// its name. Open returns a Store in which there is something else of the same length, for the content
// "content" with a digest.
func RunForged(t *testing.T, open func(t *testing.T, sum, forged string) Store) {
	const text = "content"
	sum := digest(text)
	for name, forged := range map[string]string{"SameLength": "c0ntent", "Shorter": "c", "Empty": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sum, forged)
			r, err := s.Get(t.Context(), sum)
			if err == nil {
				_, err = io.ReadAll(r)
				r.Close()
			}
			if err == nil {
				t.Error("the forged content is read without an error")
			}
			for range 2 {
				keep(t, s, text, sum)
				if got := get(t, s, sum); got != text {
					t.Errorf("%q is kept, want %q", got, text)
				}
			}
		})
	}
}
