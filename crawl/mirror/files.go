package mirror

import (
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A File is a file of a mirror and its stored metadata.
type File struct {
	URL         uri.URI
	Path        string // slash-separated, relative to the root
	ContentType string
	Validator   fetch.Validator
	Size        int64
	Saved       time.Time // modification time of the file
	Mirrored    time.Time // end of the mirror run
	// Changed is true if the file differs from the one saved: its links were converted, or it was
	// changed or removed by the user.
	Changed bool
}

// Files yields the files of the mirrors below dir that were made with Options.Newer and without
// Options.State. For a converted page it yields the unconverted original, if that was kept
// (Options.Originals).
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
		os.Chtimes(name, before.ModTime(), before.ModTime()) // the content is unchanged
	}()
	for key, b := range state.Visited() {
		v := readMemo(b)
		u := v.url(key)
		if u.IsZero() || v.Path == "" {
			continue
		}
		f := File{URL: u, Path: v.Path, ContentType: v.Type, Validator: v.Validator, Size: v.Size,
			Saved:    v.Saved,
			Mirrored: before.ModTime()}
		info, err := root.Lstat(v.Path)
		f.Changed = err != nil || !v.describes(info)
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
