package mirror

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A File is a file of a mirror, and what the mirror remembers of it.
type File struct {
	URL         uri.URI
	Path        string // below the root, with slashes
	ContentType string
	Validator   fetch.Validator
	Size        int64
	Saved       time.Time // the time of the file
	Mirrored    time.Time // when the mirror ended
	// Changed says that the file is not what the mirror saved: its links were converted, or somebody
	// else has changed or removed it.
	Changed bool
}

// Files yields the files that mirrors below a directory remember: those that were made with
// Options.Newer and without Options.State. What was kept of a converted page (Options.Originals) is
// yielded in its place.
func Files(dir string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			yield(File{}, fileError(err))
			return
		}
		defer root.Close()
		states, err := filepath.Glob(filepath.Join(dir, stateDir, "*.state"))
		if err != nil {
			yield(File{}, fileError(err))
			return
		}
		for _, name := range states {
			if !filesOf(root, name, yield) {
				return
			}
		}
	}
}

// filesOf yields the files of one mirror, and reports false if it was told to stop.
func filesOf(root *os.Root, name string, yield func(File, error) bool) bool {
	before, err := os.Stat(name)
	if err != nil {
		return yield(File{}, fileError(err))
	}
	state, err := crawl.Open(name)
	if err != nil {
		return yield(File{}, err)
	}
	defer func() {
		state.Close()
		os.Chtimes(name, before.ModTime(), before.ModTime()) // nothing was changed
	}()
	for key, b := range state.Visited() {
		v := readMemo(b)
		u, err := uri.Parse(key)
		if err != nil || v.Path == "" {
			continue
		}
		if family := u.Scheme(); v.Scheme != "" {
			if secure, err := uri.Parse(v.Scheme + strings.TrimPrefix(key, family)); err == nil {
				u = secure
			}
		}
		f := File{URL: u, Path: v.Path, ContentType: v.Type, Validator: v.Validator, Size: v.Size, Saved: v.Saved,
			Mirrored: before.ModTime()}
		info, err := root.Lstat(v.Path)
		f.Changed = err != nil || !info.Mode().IsRegular() || info.Size() != v.Size || !info.ModTime().Equal(v.Saved)
		if v.Page {
			info, err := root.Lstat(v.Path + backup)
			if f.Changed = err != nil || !info.Mode().IsRegular(); !f.Changed {
				f.Path, f.Size = v.Path+backup, info.Size()
			}
		}
		if !yield(f, nil) {
			return false
		}
	}
	return true
}
