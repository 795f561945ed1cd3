package crawl

import "syscall"

// unmap releases the pages of a mapped file. They stay in the page cache and are mapped again when
// they are read.
func unmap(data uintptr, size int64) {
	syscall.Syscall(syscall.SYS_MADVISE, data, uintptr(size), syscall.MADV_DONTNEED)
}
