package download

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/urlget/urlget/internal/unnamed"
)

const canSyncFileSystem = true

func (d *osDir) syncFileSystem() error {
	defer runtime.KeepAlive(d.handle)
	if err := unix.Syncfs(int(d.handle.Fd())); err != nil {
		return os.NewSyscallError("syncfs", err)
	}
	return nil
}

// writeOut asks the kernel to start writing n bytes from offset on to the disk. If n is 0, it means
// all bytes. It does not wait, and ignores errors.
func writeOut(f file, offset, n int64) {
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.SyncFileRange(int(fd), offset, n, unix.SYNC_FILE_RANGE_WRITE) })
	}
}

func (d *osDir) device() uint64 {
	info, err := d.handle.Stat()
	if err != nil {
		return 0
	}
	return uint64(info.Sys().(*syscall.Stat_t).Dev)
}

// open is faster than os.OpenFile, which tries to add regular files to the poller.
func (d *osDir) open(name string, flag int, perm fs.FileMode) (file, error) {
	fd, err := d.openat(name, flag|unix.O_NOFOLLOW, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *osDir) openat(name string, flag int, perm fs.FileMode) (fd int, err error) {
	defer runtime.KeepAlive(d.handle)
	err = again(func() error {
		fd, err = unix.Openat(int(d.handle.Fd()), name, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	return fd, err
}

// again repeats do while it returns EINTR.
func again(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}

func (d *osDir) renameNew(from, to string) error {
	defer runtime.KeepAlive(d.handle)
	fd := int(d.handle.Fd())
	err := again(func() error { return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE) })
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS:
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// lstat also returns modification times after 2038 on 32-bit platforms, where package os truncates
// the seconds to an int. Other files keep their FileInfo, for os.SameFile.
func (d *osDir) lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err != nil || strconv.IntSize > 32 {
		return info, err
	}
	defer runtime.KeepAlive(d.handle)
	var st unix.Statx_t
	err = again(func() error {
		return unix.Statx(int(d.handle.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MTIME, &st)
	})
	if err != nil || st.Mtime.Sec == int64(int32(st.Mtime.Sec)) { // it may have changed since Lstat
		return info, nil
	}
	return lateInfo{info, time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec))}, nil
}

func (d *osDir) isAbsent(name string) bool {
	defer runtime.KeepAlive(d.handle)
	var st unix.Stat_t
	return again(func() error {
		return unix.Fstatat(int(d.handle.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}) == unix.ENOENT
}

type lateInfo struct {
	fs.FileInfo
	modTime time.Time
}

func (i lateInfo) ModTime() time.Time { return i.modTime }

func (d *osDir) chtimes(name string, modTime time.Time) error {
	if seconds := modTime.Unix(); strconv.IntSize > 32 || seconds == int64(int32(seconds)) {
		return d.root.Chtimes(name, time.Now(), modTime)
	}
	defer runtime.KeepAlive(d.handle)
	path, err := unix.BytePtrFromString(name)
	if err == nil {
		err = setTimes(int(d.handle.Fd()), path, modTime)
	}
	if err != nil && err != unix.ENOSYS { // an old kernel; the time stays unset
		return &fs.PathError{Op: "chtimes", Path: name, Err: err}
	}
	return nil
}

// setTimes sets the access time to now and the modification time to modTime. If path is nil, it
// sets those of fd, otherwise those of path below the directory fd. Times have 64 bits, which
// requires Linux 5.1 on 32-bit platforms.
func setTimes(fd int, path *byte, modTime time.Time) error {
	number, flags := uintptr(unix.SYS_UTIMENSAT), uintptr(unix.AT_SYMLINK_NOFOLLOW)
	switch runtime.GOARCH {
	case "386", "arm":
		number = 412 // SYS_UTIMENSAT_TIME64
	case "mips", "mipsle":
		number = 4412
	}
	if path == nil {
		flags = 0
	}
	times := [2][2]int64{{0, unix.UTIME_NOW}, {modTime.Unix(), int64(modTime.Nanosecond())}}
	return again(func() error {
		_, _, errno := unix.Syscall6(number, uintptr(fd), uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(&times)), flags, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// An unnamedLinux is a file created with O_TMPFILE.
type unnamedLinux struct {
	dir *osDir
	fd  int
}

// unnamed returns ErrUnsupported without trying again once the file system has refused it.
func (d *osDir) unnamed() (unnamedFile, error) {
	if d.named.Load() {
		return nil, errors.ErrUnsupported
	}
	defer runtime.KeepAlive(d.handle)
	u := &unnamedLinux{dir: d}
	err := again(func() (err error) {
		u.fd, err = unnamed.CreateAt(int(d.handle.Fd()), 0o666)
		return err
	})
	if err != nil {
		return nil, d.refuse()
	}
	return u, nil
}

func (d *osDir) refuse() error {
	d.named.Store(true)
	return errors.ErrUnsupported
}

func (u *unnamedLinux) Write(p []byte) (n int, err error) {
	for n < len(p) {
		var m int
		if err := again(func() error { m, err = unix.Write(u.fd, p[n:]); return err }); err != nil {
			return n, os.NewSyscallError("write", err)
		}
		n += m
	}
	return n, nil
}

func (u *unnamedLinux) Sync() error {
	return os.NewSyscallError("fsync", again(func() error { return unix.Fsync(u.fd) }))
}

func (u *unnamedLinux) Close() error { return unix.Close(u.fd) }

func (u *unnamedLinux) chtimes(modTime time.Time) error {
	if setTimes(u.fd, nil, modTime) != nil {
		return u.dir.refuse()
	}
	return nil
}

func (u *unnamedLinux) modTime() (time.Time, error) {
	var st unix.Statx_t
	if again(func() error { return unix.Statx(u.fd, "", unix.AT_EMPTY_PATH, unix.STATX_MTIME, &st) }) != nil {
		return time.Time{}, u.dir.refuse()
	}
	return time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)), nil
}

func (u *unnamedLinux) link(name string) error {
	defer runtime.KeepAlive(u.dir.handle)
	switch err := unnamed.Link(u.fd, int(u.dir.handle.Fd()), name, &u.dir.byPath); err {
	case nil:
		return nil
	case unix.EEXIST:
		return &os.LinkError{Op: "link", Old: "", New: name, Err: err}
	}
	return u.dir.refuse()
}
