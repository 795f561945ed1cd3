package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
)

// A cacheDir is the directory of --cache. Only the user can write to it, so what is checked once stays so.
type cacheDir struct {
	name string
	say  func(format string, args ...any)
}

// check refuses a directory that others can write to, and links in the place of its own files.
func (d cacheDir) check() error {
	info, err := os.Stat(d.name)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("the cache %s: others can write to the directory", d.name)
	}
	for _, own := range []string{"key", "lock", missingFile} {
		if name := filepath.Join(d.name, own); !isOwnFile(name) {
			return fmt.Errorf("the cache has %s, which is not a regular file", name)
		}
	}
	return nil
}

// isOwnFile reports whether a name is that of a regular file, or of none.
func isOwnFile(name string) bool {
	info, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular()
}

func (d cacheDir) open() (*replay.Archive, error) {
	entries, err := os.ReadDir(d.name)
	if err != nil {
		return nil, err
	}
	var archives, strange []string
	for _, e := range entries {
		name := filepath.Join(d.name, e.Name())
		switch {
		case strings.HasSuffix(name, ".cdxj") && !e.Type().IsRegular():
			strange = append(strange, strings.TrimSuffix(name, ".cdxj"))
			d.say("the cache has %s, which is not a regular file: its archive is skipped", name)
		case !strings.HasSuffix(name, ".warc") && !strings.HasSuffix(name, ".warc.gz"):
		case !e.Type().IsRegular():
			d.say("the cache has %s, which is not a regular file: it is skipped", name)
		default:
			archives = append(archives, name)
		}
	}
	archives = slices.DeleteFunc(archives, func(name string) bool {
		return slices.ContainsFunc(strange, func(index string) bool { return strings.HasPrefix(name, index) })
	})
	if stored, err := replay.Open(archives...); err == nil {
		return stored, nil
	}
	return replay.Open(slices.DeleteFunc(archives, func(name string) bool {
		one, err := replay.Open(name)
		if err != nil {
			d.say("the cache has a file that is skipped: %v", err)
			return true
		}
		one.Close()
		return false
	})...)
}

// holds reports whether the archive with a name can be appended to: it was opened, or it is new.
func (d cacheDir) holds(stored *replay.Archive, name string) bool {
	name = filepath.Join(d.name, name)
	_, err := os.Lstat(name)
	return slices.Contains(stored.Files(), name) ||
		errors.Is(err, fs.ErrNotExist) && isOwnFile(warc.IndexName(name))
}
