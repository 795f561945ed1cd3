package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A Store keeps contents by their digests. It is safe for concurrent use.
type Store interface {
	// Begin returns a place for a content that is to come.
	Begin() (Spool, error)
}

// A Spool takes a content. It ends with Commit or Discard.
type Spool interface {
	io.Writer
	// Reader returns what was written, from its beginning. Nothing may be written after that, and
	// each call ends the use of the reader of an earlier one, as do Commit and Discard.
	Reader() (io.Reader, error)
	// Commit keeps what was written under its digest, SHA-256 in hexadecimal, unless it is there
	// already, and returns where. When it returns, the content outlasts the process. Others may write
	// to the store: what is there counts only if it has the digest, and else it is replaced.
	Commit(ctx context.Context, sha256 string) (path string, err error)
	// Discard forgets what was written. After Commit it does nothing.
	Discard()
}

// Verify returns r with a digest, SHA-256 in hexadecimal, that is checked: where r ends without having
// it, Read returns an error of class fetch.ErrChecksum in place of io.EOF.
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
		err = &fetch.Error{Code: fetch.ErrChecksum, Err: fmt.Errorf("what is kept as %s has the digest %s", v.want, got)}
	}
	return n, err
}

// Holds reads r, which Verify returned, and reports whether it has its digest. It closes r.
func Holds(r io.ReadCloser) (bool, error) {
	_, err := io.Copy(io.Discard, r)
	err = errors.Join(err, r.Close())
	if fetch.CodeOf(err) == fetch.ErrChecksum {
		return false, nil
	}
	return err == nil, err
}
