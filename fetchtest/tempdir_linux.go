package fetchtest

import (
	"os"
	"syscall"
)

const (
	memoryFiles = "/dev/shm"
	tmpfsMagic  = 0x01021994 // TMPFS_MAGIC, statfs(2)
	writable    = 0x2        // W_OK, access(2)
	// minMemoryFiles is more than the 64 MiB that a container has by default.
	minMemoryFiles = 1 << 30
)

// TempInMemory makes [os.TempDir], and with it [testing.T.TempDir], a file system in memory if the
// system has a suitable one. TestMain calls it in packages whose tests write many files, because creating,
// syncing and removing them on a disk takes more processor time than the tests. If TMPDIR is set, or
// with long tests, files stay where they are.
func TempInMemory() {
	if os.Getenv("TMPDIR") != "" || IsLong() {
		return
	}
	var s syscall.Statfs_t
	if syscall.Statfs(memoryFiles, &s) == nil && s.Type == tmpfsMagic && s.Flags&syscall.MS_NOEXEC == 0 &&
		s.Bavail >= minMemoryFiles/uint64(s.Bsize) && syscall.Access(memoryFiles, writable) == nil {
		os.Setenv("TMPDIR", memoryFiles)
	}
}
