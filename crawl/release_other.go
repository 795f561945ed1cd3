//go:build !linux

package crawl

func unmap(uintptr, int64) {}
