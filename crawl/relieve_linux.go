package crawl

import "syscall"

// unmap lets go of the pages of a mapped file, which stay in the cache of the system and come back
// when they are read.
func unmap(data uintptr, size int64) {
	syscall.Syscall(syscall.SYS_MADVISE, data, uintptr(size), syscall.MADV_DONTNEED)
}
