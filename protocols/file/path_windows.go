package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// systemPath returns the name of the file on this system for the path of a URL: "/C:/x" and "/C|/x"
// are `C:\x` (RFC 8089, appendix E.2). If it is confined to a root, there is no drive.
func systemPath(p string, confined bool) (string, error) {
	rest := strings.TrimPrefix(p, "/")
	drive := ""
	if !confined {
		if len(rest) < 2 || rest[1] != ':' && rest[1] != '|' || !isLetter(rest[0]) {
			return "", errors.New("the path has no drive, such as in file:///C:/")
		}
		drive, rest = rest[:1]+`:\`, strings.TrimPrefix(rest[2:], "/")
	}
	if strings.ContainsAny(rest, `\:`) {
		return "", errors.New("invalid file name")
	}
	rest = filepath.Clean(filepath.FromSlash(rest))
	if !filepath.IsLocal(rest) {
		return "", errors.New("the path names a device or leads out of its drive")
	}
	return drive + rest, nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (d *opener) openFile(_ context.Context, name string, _ fs.FileInfo) (*os.File, error) {
	if d.Root != nil {
		return d.Root.Open(name)
	}
	return os.Open(name)
}

// inode returns 0: Windows provides it only for open files.
func inode(fs.FileInfo) uint64 { return 0 }

func isWithoutBlocks(fs.FileInfo) bool { return false }

// isNotDirectory reports false: on Windows such errors match fs.ErrNotExist.
func isNotDirectory(error) bool { return false }
