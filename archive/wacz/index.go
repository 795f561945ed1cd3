package wacz

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/warc"
)

// ErrNoIndex is returned by ReadIndex for a file without an index.
var ErrNoIndex = errors.New("wacz: file without an index")

const (
	indexDir = "indexes/"
	// maxIndexRatio limits the compression ratio of an index. A typical index is compressed to a
	// tenth.
	maxIndexRatio = 100
)

// ReadIndex calls f with each entry of the CDXJ indexes, in no particular order. It reads indexes
// completely, also compressed ones, and ignores .idx files. If an index is damaged or does not
// match its digest, ReadIndex returns an error after calling f. An error of f stops it.
func (r *Reader) ReadIndex(f func(warc.IndexEntry) error) error {
	digests := make(map[string]string)
	if about, _, err := r.description(); err == nil {
		for _, s := range about.Resources {
			digests[s.Path] = s.Hash
		}
	}
	found := false
	for _, file := range r.zip.File {
		name, ok := strings.CutPrefix(file.Name, indexDir)
		if !ok || !isIndex(name) {
			continue
		}
		found = true
		if err := readIndex(file, digests[file.Name], f); err != nil {
			return fmt.Errorf("%q: %w", file.Name, err)
		}
	}
	if !found {
		return ErrNoIndex
	}
	return nil
}

func isIndex(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	return strings.HasSuffix(name, ".cdx") || strings.HasSuffix(name, ".cdxj")
}

func readIndex(file *zip.File, want string, f func(warc.IndexEntry) error) error {
	member, err := file.Open()
	if err != nil {
		return err
	}
	defer member.Close()
	most := int64(min(file.CompressedSize64, 1<<40))*maxIndexRatio + 1<<20
	sum := sha256.New()
	raw := io.TeeReader(io.LimitReader(member, most), sum)
	in := raw
	if strings.HasSuffix(file.Name, ".gz") {
		if in, err = gzip.NewReader(bufio.NewReader(raw)); err != nil {
			return err
		}
	}
	limited := &io.LimitedReader{R: in, N: most}
	if err := warc.ReadIndex(limited, f); err != nil && err != warc.ErrNoIndex { // it may be empty
		return err
	}
	if limited.N <= 0 {
		return fmt.Errorf("decompressed size is more than %d times the compressed size", maxIndexRatio)
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return err
	}
	if strings.HasPrefix(want, "sha256:") && digest.SHA256(sum) != want {
		return errors.New("digest mismatch")
	}
	return nil
}
