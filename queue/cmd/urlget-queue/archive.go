package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// record creates the archive of a worker, in a new file in dir. It calls failed if the archive
// cannot be written.
func record(dir, queue string, failed func(error)) (*warc.Writer, fetch.Recorder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fileError(err)
	}
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, cmp.Or(host, "worker"))
	now := time.Now().UTC().Format("20060102150405")
	name := fmt.Sprintf("%s-%s-%s-%d.warc.gz", queue, now, host, os.Getpid())
	info := warc.Header{}
	info.Add("software", "urlget")
	info.Add("description", "responses that one of several workers received")
	w, err := warc.Create(filepath.Join(dir, name), warc.WriterOptions{Info: info, Format: capture.Format})
	if err != nil {
		return nil, nil, fileError(err)
	}
	c := capture.New(w, capture.NewSeen(), func(err error) {
		failed(&fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("cannot write the archive: %w", err)})
	})
	return w, c, nil
}

// restrictOnUse returns a function that passes cookies to replace. Before it passes any, it makes
// the archive accessible only to its owner.
func restrictOnUse(archive *warc.Writer, replace func([]byte) error) func([]byte) error {
	return func(file []byte) error {
		if len(file) > 0 {
			archive.Restrict()
		}
		return replace(file)
	}
}

func indexInto(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(w)
	damaged := warc.WriteIndex(out, f, filepath.Base(name))
	return cmp.Or(out.Flush(), damaged)
}

const mergedIndex = "index.cdxj"

// index writes one sorted index of all archives in a directory. It writes an index of each archive
// to a temporary file and merges them.
func (a *app) index(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil || len(names) == 0 {
		return fileError(cmp.Or(err, fmt.Errorf("%s does not contain archives (*.warc.gz)", dir)))
	}
	slices.Sort(names)
	tmp, err := os.MkdirTemp(dir, ".index-*")
	if err != nil {
		return fileError(err)
	}
	defer os.RemoveAll(tmp)
	var damaged error
	var parts []*os.File
	defer func() {
		for _, f := range parts {
			f.Close()
		}
	}()
	mode := fs.FileMode(0o666)
	for i, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return fileError(err)
		}
		mode &= info.Mode().Perm() | 0o600 // the index has URLs and forms of the archives
		part, err := os.Create(filepath.Join(tmp, fmt.Sprint(i)))
		if err != nil {
			return fileError(err)
		}
		parts = append(parts, part)
		if err := indexInto(part, name); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			if _, isDamage := errors.AsType[*warc.DamageError](err); !isDamage {
				return fileError(err)
			}
			damaged = cmp.Or(damaged, error(&fetch.Error{Code: fetch.ErrProtocol, Err: err}))
		}
	}
	out, err := os.OpenFile(filepath.Join(tmp, mergedIndex), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fileError(err)
	}
	var readers []io.Reader
	for _, part := range parts {
		if _, err := part.Seek(0, io.SeekStart); err != nil {
			return fileError(err)
		}
		readers = append(readers, part)
	}
	lines, err := warc.MergeIndexes(out, readers...)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fileError(err)
	}
	index := filepath.Join(dir, mergedIndex)
	if err := os.Rename(out.Name(), index); err != nil {
		return fileError(err)
	}
	_, err = fmt.Fprintf(a.err, "%s: %d lines from %d archives\n", index, lines, len(names))
	return cmp.Or(damaged, fileError(err))
}
