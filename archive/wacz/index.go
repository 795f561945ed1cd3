package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/archive/warc"
)

// ErrNoIndex is the error of ReadIndex for a file that has no index.
var ErrNoIndex = errors.New("wacz: file without an index")

const (
	indexDir = "indexes/"
	// maxIndexLine bounds a line of an index; longer ones are skipped.
	maxIndexLine = 64 << 10
	// maxIndexRatio bounds how much an index grows when it is unpacked. That of records is a tenth.
	maxIndexRatio = 100
)

// ReadIndex calls f with each entry of the indexes, in any order: those in CDXJ, compressed or not,
// as a whole or in blocks that an .idx file points to. That file is not needed for this. An index
// that has not the digest that is given of it, or is damaged, is an error in the end. An error of f
// ends it.
func (r *Reader) ReadIndex(f func(warc.IndexEntry) error) error {
	digests := make(map[string]string)
	if text, err := r.read(packageFile); err == nil {
		var about description
		if json.Unmarshal(text, &about) == nil {
			for _, s := range about.Resources {
				digests[s.Path] = s.Hash
			}
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

// isIndex reports whether a name is that of an index in CDXJ.
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
	lines := bufio.NewReaderSize(limited, maxIndexLine)
	for {
		line, err := lines.ReadSlice('\n')
		for err == bufio.ErrBufferFull {
			line = nil
			_, err = lines.ReadSlice('\n')
		}
		if e, ok := warc.ParseIndexEntry(bytes.TrimSpace(line)); ok {
			if err := f(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if limited.N <= 0 {
		return fmt.Errorf("it grows to more than %d times its size when it is unpacked", maxIndexRatio)
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return err
	}
	if strings.HasPrefix(want, "sha256:") && digest(sum) != want {
		return errors.New("it has not the digest that is given of it")
	}
	return nil
}
