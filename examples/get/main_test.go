package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestGet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "motd")
	if err := os.WriteFile(name, []byte("welcome"), 0o600); err != nil {
		t.Fatal(err)
	}
	for rawURL, want := range map[string]string{
		"data:,hello%20there":                         "hello there",
		uri.Must(uri.File{Path: name}.URI()).String(): "welcome",
	} {
		var got strings.Builder
		if err := get(t.Context(), &got, rawURL); err != nil || got.String() != want {
			t.Errorf("%s: %q, %v; want %q", rawURL, got.String(), err, want)
		}
	}
	if err := get(t.Context(), io.Discard, "x-unknown:x"); !errors.Is(err, fetch.ErrScheme) {
		t.Errorf("unknown scheme: %v", err)
	}
}
