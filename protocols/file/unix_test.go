//go:build unix

package file_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/file"
)

func mkfifo(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSpecialFilesAreRefused(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{mkfifo(t), socket, "/dev/zero", "/dev/null", link} {
		if _, err := drive.Client(t, nil, file.Load).Get(t.Context(), fileURL(name)); !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if _, err := drive.Client(t, nil, file.With(file.Options{Devices: true})).Get(t.Context(), fileURL(socket)); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("a socket among devices: %v, want ErrRefused", err)
	}
}

func TestDevices(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, file.With(file.Options{Devices: true}))
	resp, err := c.Get(t.Context(), "file:///dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := []byte("xxxx")
	if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "\x00\x00\x00\x00" || resp.Size != -1 {
		t.Errorf("%q, size %d, %v", buf, resp.Size, err)
	}
}

func TestPipe(t *testing.T) {
	t.Parallel()
	name := mkfifo(t)
	wrote := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.WriteString(w, "through the pipe")
			w.Close()
		}
		wrote <- err
	}()
	got, resp, err := drive.Do(t, drive.Client(t, nil, file.With(file.Options{Devices: true})), &fetch.Request{URL: uri.MustParse(fileURL(name))})
	if err != nil {
		t.Fatal(err)
	}
	if got != "through the pipe" || resp.Framing != fetch.FramedByClose {
		t.Errorf("%q, %v, framing %v", got, err, resp.Framing)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// TestPipeWaits interrupts the waits for a writer and for data.
func TestPipeWaits(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	c := drive.Client(t, nil, file.With(file.Options{Devices: true}))
	name := mkfifo(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	opened := make(chan error)
	go func() {
		_, err := c.Get(ctx, fileURL(name))
		opened <- err
	}()
	cancel(why)
	if err := <-opened; !errors.Is(err, why) {
		t.Errorf("no writer: %v, want the cause of the context", err)
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	silent := make(chan *os.File)
	go func() {
		w, _ := os.OpenFile(name, os.O_WRONLY, 0)
		silent <- w
	}()
	resp, err := c.Get(ctx, fileURL(name))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	w := <-silent
	defer w.Close()
	go cancel(why)
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, why) {
		t.Errorf("silent writer: %v, want the cause of the context", err)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	name := write(t, "x", t.TempDir(), "a")
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := drive.Client(t, nil, file.Load).Get(t.Context(), fileURL(name)); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("%v, want ErrRefused", err)
	}
}

func TestRootConfines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, "secret", dir, "outside.txt")
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, "fine", inside, "a.txt")
	for link, target := range map[string]string{"up": "../outside.txt", "abs": filepath.Join(dir, "outside.txt"), "ok": "a.txt"} {
		if err := os.Symlink(target, filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := drive.Client(t, nil, file.With(file.Options{Root: openRoot(t, inside)}))
	for u, code := range map[string]fetch.Code{
		"file:///a.txt":                "",
		"file:///ok":                   "",
		"file:///up":                   fetch.ErrRefused,
		"file:///abs":                  fetch.ErrRefused,
		"file:///../outside.txt":       fetch.ErrRefused,
		"file:///%2E%2E/outside.txt":   fetch.ErrRefused,
		fileURL(dir) + "/outside.txt":  fetch.ErrNotFound,
		"file:///x/../../outside.txt":  fetch.ErrRefused,
		"file://localhost/no-such.txt": fetch.ErrNotFound,
	} {
		resp, err := c.Get(t.Context(), u)
		if fetch.CodeOf(err) != code {
			t.Errorf("%s: %v, want class %q", u, err, code)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	n := 0
	for _, e := range drive.MustList(t, c, "file:///") {
		if n++; e.Name == "ok" && e.Size != 4 {
			t.Errorf("a link is listed as %+v, want what it leads to", e)
		}
	}
	if n != 4 {
		t.Errorf("%d entries, want 4", n)
	}
}

func TestDanglingLinkIsListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range drive.Client(t, nil, file.Load).List(t.Context(), fileURL(dir)) {
		if err != nil || e.Name != "l" || e.Size != -1 {
			t.Errorf("%+v, %v", e, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestModesAndTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]file.Member{}
	for name, mode := range map[string]fs.FileMode{"-rw-r-----": 0o640, "-rwsr-xr-x": fs.ModeSetuid | 0o755, "-rw-r-Sr--": fs.ModeSetgid | 0o644} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		want[name] = file.Member{Mode: name}
	}
	sub, link, pipe := filepath.Join(dir, "sub"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Mkdir(sub, 0o700), os.Chmod(sub, fs.ModeSticky|0o777), os.Symlink("sub", link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	want["sub"], want["link"], want["pipe"] = file.Member{Mode: "drwxrwxrwt"}, file.Member{Mode: "lrwxrwxrwx", Target: "sub"}, file.Member{Mode: "prw-------"}
	got := map[string]file.Member{}
	for _, e := range drive.MustList(t, drive.Client(t, nil, file.Load), fileURL(dir)) {
		got[e.Name], _ = e.Sys.(file.Member)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
