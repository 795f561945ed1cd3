//go:build unix

package download

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A child process has copies of all descriptors until it starts its program. They must not keep a part
// locked.
func TestClosedPartsAreUnlocked(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	p := &part{dir: dir, names: namesFor("file.bin")}
	if err := p.create("", 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := p.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	inherited := -1
	if err := conn.Control(func(fd uintptr) { inherited, err = unix.Dup(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if _, err := p.openOld(); !errors.Is(err, errLocked) {
		t.Errorf("opening the part of a transfer: %v, want %v", err, errLocked)
	}
	if err := closeLocked(p.file); err != nil {
		t.Fatal(err)
	}
	old, err := p.openOld()
	if err != nil {
		t.Fatalf("opening the part of an ended transfer: %v", err)
	}
	old.Close()
}
