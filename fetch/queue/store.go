package queue

import (
	"context"
	"io"
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
	// already, and returns where. When it returns, the content outlasts the process.
	Commit(ctx context.Context, sha256 string) (path string, err error)
	// Discard forgets what was written. After Commit it does nothing.
	Discard()
}
