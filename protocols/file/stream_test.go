package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// streamOf returns the response for the reading end of a pipe that claims to be an empty file, as
// files of the kernel do.
func streamOf(t *testing.T, op fetch.Op, idle time.Duration) (*os.File, func() (*fetch.Response, error)) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if r.SetReadDeadline(time.Time{}) != nil {
		t.Skip("pipes cannot be polled")
	}
	info, err := fs.Stat(fstest.MapFS{"kmsg": {}}, "kmsg")
	if err != nil {
		t.Fatal(err)
	}
	return w, func() (*fetch.Response, error) {
		return object(t.Context(), &fetch.Request{Op: op}, r, info, idle)
	}
}

func TestStreamsOfTheKernel(t *testing.T) {
	t.Parallel()
	w, get := streamOf(t, fetch.OpGet, 0)
	io.WriteString(w, "first ")
	resp, err := get()
	if err != nil || resp.Size != -1 || resp.ContentType != "text/plain; charset=utf-8" {
		t.Fatalf("%+v, %v", resp, err)
	}
	io.WriteString(w, "second")
	w.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "first second" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamsThatEndAtOnce(t *testing.T) {
	t.Parallel()
	w, get := streamOf(t, fetch.OpGet, time.Hour)
	w.Close()
	resp, err := get()
	if err != nil || resp.Size != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	if b, err := io.ReadAll(resp.Body); len(b) > 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestSilentStreamsTimeOut(t *testing.T) {
	t.Parallel()
	_, get := streamOf(t, fetch.OpGet, time.Millisecond)
	if resp, err := get(); !errors.Is(err, fetch.ErrFile) {
		t.Errorf("%+v, %v, want an error of class %q", resp, err, fetch.ErrFile)
	}
	w, get := streamOf(t, fetch.OpGet, time.Millisecond)
	io.WriteString(w, "content")
	resp, err := get()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); string(b) != "content" || !errors.Is(err, fetch.ErrFile) {
		t.Errorf("%q, %v, want an error of class %q", b, err, fetch.ErrFile)
	}
}

// TestStatOfStreams checks that no content is lost by Stat.
func TestStatOfStreams(t *testing.T) {
	t.Parallel()
	w, get := streamOf(t, fetch.OpStat, time.Millisecond)
	io.WriteString(w, "content")
	for range 2 {
		if resp, err := get(); err != nil || resp.Size != -1 {
			t.Errorf("%+v, %v", resp, err)
		}
	}
}
