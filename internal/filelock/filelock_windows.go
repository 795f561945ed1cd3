package filelock

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

func try(f File) error {
	var held error
	err := control(f, func(h windows.Handle, at *windows.Overlapped) {
		const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		held = windows.LockFileEx(h, how, 0, 1, 0, at)
	})
	if err != nil {
		return err
	}
	if held != nil && held != windows.ERROR_LOCK_VIOLATION && held != windows.ERROR_IO_PENDING {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, held)
	}
	return held
}

func unlock(f File) {
	control(f, func(h windows.Handle, at *windows.Overlapped) { windows.UnlockFileEx(h, 0, 1, 0, at) })
}

func control(f File, do func(windows.Handle, *windows.Overlapped)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// Locks of Windows are mandatory, also for readers, so the locked byte is one that no file has.
	at := windows.Overlapped{Offset: 0xffffffff, OffsetHigh: 0x7fffffff}
	return conn.Control(func(fd uintptr) { do(windows.Handle(fd), &at) })
}
