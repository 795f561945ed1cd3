// Package artefact holds code shared by the stores of a queue. Bodies are identified by SHA-256
// digests in hexadecimal.
package artefact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// BodyDir is the directory of bodies in a store.
const BodyDir = "sha256"

// Path returns the slash-separated path of the body with a digest.
func Path(sum string) string { return path.Join(BodyDir, sum[:2], sum) }

// Sum returns the digest of the body at a path, and reports whether it is the path of a body.
func Sum(name string) (sum string, ok bool) {
	sum = path.Base(name)
	return sum, Check(sum) == nil && strings.ToLower(sum) == sum && Path(sum) == name
}

// Check returns an error of class fetch.ErrRequest if sum is not a digest.
func Check(sum string) error {
	if _, err := hex.DecodeString(sum); err != nil || len(sum) != 2*sha256.Size {
		return &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is not a SHA-256 digest", sum)}
	}
	return nil
}

// Verify returns a reader that compares the digest of r with sum. If they differ, the last Read
// returns an error of class fetch.ErrChecksum instead of io.EOF.
func Verify(r io.ReadCloser, sum string) io.ReadCloser {
	return &verified{r, sha256.New(), sum}
}

type verified struct {
	io.ReadCloser
	hash hash.Hash
	want string
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	if err != io.EOF {
		return n, err
	}
	if got := hex.EncodeToString(v.hash.Sum(nil)); !strings.EqualFold(got, v.want) {
		err = &fetch.Error{Code: fetch.ErrChecksum,
			Err: fmt.Errorf("the stored content of %s has the digest %s", v.want, got)}
	}
	return n, err
}

// Holds reads and closes r, which Verify returned, and reports whether it has its digest.
func Holds(r io.ReadCloser) (bool, error) {
	_, err := io.Copy(io.Discard, r)
	err = errors.Join(err, r.Close())
	if fetch.CodeOf(err) == fetch.ErrChecksum {
		return false, nil
	}
	return err == nil, err
}

// A Spool is a queue.Spool in a temporary file, for stores that upload bodies.
type Spool struct {
	file   *os.File
	commit func(ctx context.Context, f *os.File, sum string) (path string, err error)
	closed bool
}

// NewSpool creates a spool in dir, or in the system's directory for temporary files if dir is
// empty. Commit calls commit with the file at offset 0.
func NewSpool(dir string, commit func(ctx context.Context, f *os.File,
	sum string) (path string, err error)) (*Spool, error) {
	f, err := os.CreateTemp(dir, "urlget-")
	if err != nil {
		return nil, err
	}
	return &Spool{file: f, commit: commit}, nil
}

// Write implements queue.Spool.
func (s *Spool) Write(p []byte) (int, error) { return s.file.Write(p) }

// Reader implements queue.Spool.
func (s *Spool) Reader() (io.Reader, error) {
	_, err := s.file.Seek(0, io.SeekStart)
	return struct{ io.Reader }{s.file}, err
}

// Commit implements queue.Spool.
func (s *Spool) Commit(ctx context.Context, sum string) (string, error) {
	defer s.Discard()
	if err := Check(sum); err != nil {
		return "", err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return s.commit(ctx, s.file, sum)
}

// Discard implements queue.Spool.
func (s *Spool) Discard() {
	if !s.closed {
		s.closed = true
		s.file.Close()
		os.Remove(s.file.Name()) // if this fails, the file is harmless
	}
}
