package fetchhttp

import (
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// parallelStats is the number of members whose metadata are requested at once.
const parallelStats = 4

// davMembers returns the metadata of the members of a directory, without those that cannot be read.
func davMembers(fsys fs.FS, name string) ([]fs.FileInfo, error) {
	list, err := fs.ReadDir(fsys, name)
	if err != nil {
		return nil, err
	}
	infos := make([]fs.FileInfo, len(list))
	slots := make(chan struct{}, parallelStats)
	var wait sync.WaitGroup
	for i, e := range list {
		if !fs.ValidPath(e.Name()) || strings.ContainsAny(e.Name(), "/\r\n\x00") {
			continue // it cannot be opened
		}
		if infos[i] = listedInfo(e); infos[i] != nil {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			infos[i] = memberInfo(fsys, path.Join(name, e.Name()), e)
		})
	}
	wait.Wait()
	kept := infos[:0]
	for _, info := range infos {
		if info != nil {
			kept = append(kept, info)
		}
	}
	return kept, nil
}

// memberInfo returns the metadata of a member, of a link those of its target, or nil.
func memberInfo(fsys fs.FS, name string, e fs.DirEntry) fs.FileInfo {
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = fs.Stat(fsys, name)
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	return entryInfo{e.Name(), info}
}

// listedInfo returns the metadata of a member as far as the listing has them, or nil if the size of a
// file is missing.
func listedInfo(e fs.DirEntry) fs.FileInfo {
	member, ok := e.(interface{ Entry() fetch.Entry })
	if !ok {
		return nil
	}
	entry := member.Entry()
	if !e.IsDir() && entry.Size < 0 {
		return nil
	}
	mode := fs.FileMode(0o444)
	if e.IsDir() {
		mode = fs.ModeDir | 0o555
	}
	meta := &fetch.Meta{ContentType: entry.ContentType}
	return listed{e.Name(), max(entry.Size, 0), mode, entry.ModTime, meta}
}

// An entryInfo has the name of a member that may be a link.
type entryInfo struct {
	name string
	fs.FileInfo
}

func (i entryInfo) Name() string { return i.name }

type listed struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	meta    *fetch.Meta
}

func (i listed) Name() string       { return i.name }
func (i listed) Size() int64        { return i.size }
func (i listed) Mode() fs.FileMode  { return i.mode }
func (i listed) ModTime() time.Time { return i.modTime }
func (i listed) IsDir() bool        { return i.mode.IsDir() }
func (i listed) Sys() any           { return i.meta }

// A rereader gives ranges of a file that cannot seek: it reads up to them, if necessary from the
// beginning.
type rereader struct {
	fsys fs.FS
	name string
	size int64

	file     fs.File
	at, goal int64 // where file is, and where the next read begins
}

// Seek implements io.Seeker. It does not read.
func (r *rereader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.goal
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	r.goal = offset
	return offset, nil
}

func (r *rereader) Read(p []byte) (int, error) {
	if r.goal < r.at {
		r.file.Close()
		f, err := r.fsys.Open(r.name)
		if err != nil {
			return 0, err
		}
		r.file, r.at = f, 0
	}
	skipped, err := io.CopyN(io.Discard, r.file, r.goal-r.at)
	if r.at += skipped; err != nil {
		return 0, err
	}
	n, err := r.file.Read(p)
	r.at += int64(n)
	r.goal = r.at
	return n, err
}

func (r *rereader) Close() error { return r.file.Close() }
