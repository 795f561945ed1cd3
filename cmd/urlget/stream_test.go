package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestSplicedStreams checks that content is spliced into files, pipes and the
// null device, but not into other devices, few of which support it.
func TestSplicedStreams(t *testing.T) {
	t.Parallel()
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Skip(err) // no such device here
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	for _, tt := range []struct {
		f    *os.File
		want bool
	}{{pipe, true}, {open(filepath.Join(t.TempDir(), "file")), true}, {open(os.DevNull), true}, {open("/dev/full"), false}} {
		if _, got := stream(tt.f).(io.ReaderFrom); got != tt.want {
			t.Errorf("%s: %t", tt.f.Name(), got)
		}
	}
}
