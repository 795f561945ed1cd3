package queue

import (
	"context"
	"io"
	"iter"
	"time"
)

// A Store stores bodies by digest. It is safe for concurrent use.
type Store interface {
	// Begin returns a spool for a new body.
	Begin() (Spool, error)
	// Get opens the body with a digest. The caller closes it. The error has class fetch.ErrNotFound
	// if the body does not exist. If the body does not have the digest, the last Read returns an
	// error of class fetch.ErrChecksum instead of io.EOF.
	Get(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// A Spool receives a body. Its owner calls Commit or Discard.
type Spool interface {
	io.Writer
	// Reader returns a reader of the written data from its start. Write must not be called
	// afterwards. Reader, Commit and Discard invalidate readers of earlier calls.
	Reader() (io.Reader, error)
	// Commit stores the written data under its digest, SHA-256 in hexadecimal, and returns its
	// path. The data is durable when Commit returns. Other programs may write to the store: an
	// existing body is kept if it has the digest, and otherwise replaced.
	Commit(ctx context.Context, sha256 string) (path string, err error)
	// Discard drops the written data. After Commit it does nothing.
	Discard()
}

// A Lister is a Store whose bodies can be listed and removed. The stores of this module are Listers.
type Lister interface {
	Store
	// List yields the bodies in any order. It skips all else in the store.
	List(ctx context.Context) iter.Seq2[Content, error]
	// Remove removes the body with a digest. It does nothing if there is none.
	Remove(ctx context.Context, sha256 string) error
}

// A Content describes a stored body.
type Content struct {
	SHA256 string
	Size   int64     // in bytes
	Time   time.Time // when it was stored, or last replaced
}
