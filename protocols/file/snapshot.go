package file

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// copyChunk limits the number of bytes that the kernel moves between two checks of the context.
const copyChunk = 16 << 20

// A snapshot reads as many bytes as a file had when it was opened, even if more are appended.
type snapshot struct {
	ctx  context.Context
	file *os.File
	left int64 // math.MaxInt64 if the size is unknown
	stop func() bool
	once sync.Once
	// stream reads the file in place of file, if it is not nil.
	stream *stream
}

// newSnapshot returns a body of size bytes. If size is -1, it reads to the end.
func newSnapshot(ctx context.Context, f *os.File, size int64) *snapshot {
	b := &snapshot{ctx: ctx, file: f, left: size}
	if size < 0 {
		b.left = math.MaxInt64
		// A read from a pipe or terminal may block.
		b.stop = context.AfterFunc(ctx, func() { f.Close() })
	}
	return b
}

func (b *snapshot) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	if b.stream != nil {
		n, err := b.stream.Read(p)
		return n, b.count(int64(n), err)
	}
	n, err := b.file.Read(p)
	return n, b.count(int64(n), err)
}

// WriteTo implements io.WriterTo. The kernel moves the bytes if w supports it (copy_file_range,
// sendfile).
func (b *snapshot) WriteTo(w io.Writer) (int64, error) {
	rf, ok := w.(io.ReaderFrom)
	if !ok || b.stream != nil {
		return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, make([]byte, 128<<10))
	}
	var written int64
	for b.left > 0 {
		if err := context.Cause(b.ctx); err != nil {
			return written, err
		}
		chunk := &io.LimitedReader{R: b.file, N: min(copyChunk, b.left)}
		n, err := rf.ReadFrom(chunk)
		written += n
		if err == nil && chunk.N > 0 {
			err = io.EOF
		}
		if err = b.count(n, err); err == io.EOF {
			break
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (b *snapshot) count(n int64, err error) error {
	known := b.stop == nil
	if known {
		b.left -= n
	}
	switch {
	case err == io.EOF && known && b.left > 0:
		return fetch.ErrTruncated.Retryf("the file shrank while it was read: %d bytes missing", b.left)
	case errors.Is(err, os.ErrClosed) && b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	}
	return err
}

func (b *snapshot) Close() error {
	var err error
	b.once.Do(func() {
		if b.stop == nil || b.stop() {
			err = b.file.Close()
		}
	})
	return err
}
