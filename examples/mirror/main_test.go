package main

import (
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func TestKeep(t *testing.T) {
	log.SetOutput(io.Discard)
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a/b.txt": {Data: []byte("hello\n")}}})
	dir := t.TempDir()
	for range 2 {
		if err := keep(t.Context(), s.URL+"/", dir); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "a", "b.txt"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if b, err := os.ReadFile(found[0]); string(b) != "hello\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
