package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// writeArchive writes the archive of a platform. Its files are in one folder, in the order of their
// names, and belong to root; their times are that of the commit.
func writeArchive(name string, src source, p platform, files []file) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	files = slices.SortedFunc(slices.Values(files),
		func(a, b file) int { return strings.Compare(a.name, b.name) })
	write := writeTar
	if p.os == "windows" {
		write = writeZip
	}
	if err := write(f, p.folder(src.version), src.date, files); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Close()
}

func writeTar(w io.Writer, folder string, date time.Time, files []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		err := copyFile(f, func(size int64) (io.Writer, error) {
			return t, t.WriteHeader(&tar.Header{
				Name: path.Join(folder,
					f.name), Mode: int64(f.mode), Size: size, ModTime: date, Format: tar.FormatUSTAR,
			})
		})
		if err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, folder string, date time.Time, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		err := copyFile(f, func(int64) (io.Writer, error) {
			h := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: date}
			h.SetMode(f.mode)
			return z.CreateHeader(h)
		})
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// copyFile copies a file to the writer that begin returns for its size.
func copyFile(f file, begin func(size int64) (io.Writer, error)) error {
	r, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	w, err := begin(info.Size())
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}
