//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package download

import "io/fs"

const openNonblock = 0

func links(fs.FileInfo) int { return 1 }

func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }
