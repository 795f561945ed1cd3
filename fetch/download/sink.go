package download

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// errComplete ends a copy when all wanted bytes were received.
var errComplete = errors.New("that is enough")

// A sink is the writing end of a transfer: it skips unwanted bytes, counts and digests the others,
// and lets the kernel move them if they need not be examined.
type sink struct {
	w     io.Writer
	sums  *sums
	skip  int64       // bytes to skip first
	check *comparison // compares the bytes after that; may be nil
	left  int64       // bytes wanted after that; -1 means all
	chunk int64       // bytes to move between two progress reports
	counter
	// err is the error of the destination or of count, or errComplete. Errors of the source are not
	// stored.
	err error
}

// A counter gets the number of bytes written. An error ends the copy.
type counter interface{ count(n int64) error }

type countFunc func(n int64) error

func (f countFunc) count(n int64) error { return f(n) }

// Chunks moved by the kernel start small and grow until one takes as long as the interval between
// progress reports.
const (
	minChunk = 64 << 10
	maxChunk = 8 << 20
	slow     = 200 * time.Millisecond
)

const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Write implements [io.Writer] for sources with a WriteTo method.
func (s *sink) Write(p []byte) (int, error) {
	n, written := s.write(p)
	if len(written) > 0 && s.digests() {
		s.sums.enqueueCopy(written)
	}
	return n, s.err
}

// write returns the number of bytes consumed from p and the slice of p that was written. The caller
// must digest that slice.
func (s *sink) write(p []byte) (consumed int, written []byte) {
	if s.err != nil {
		return 0, nil
	}
	dropped := min(s.skip, int64(len(p)))
	s.skip -= dropped
	rest := p[dropped:]
	if s.check != nil && len(rest) > 0 {
		if rest = s.compare(rest); s.err != nil || len(rest) == 0 {
			return len(p) - len(rest), nil
		}
		dropped = int64(len(p) - len(rest))
	}
	if s.left >= 0 && int64(len(rest)) > s.left {
		rest = rest[:s.left]
	}
	n, err := s.w.Write(rest)
	if err == nil && n < len(rest) {
		err = io.ErrShortWrite
	}
	if s.recordWrite(int64(n), err); s.err != nil {
		return int(dropped) + n, rest[:n]
	}
	return len(p), rest[:n]
}

func (s *sink) compare(p []byte) (rest []byte) {
	rest, s.err = s.check.compare(p)
	if s.check.left == 0 {
		s.check = nil
	}
	return rest
}

func (s *sink) recordWrite(n int64, err error) {
	if n > 0 {
		if s.left >= 0 {
			s.left -= n
		}
		if e := s.count(n); err == nil {
			err = e
		}
	}
	if err == nil && s.left == 0 {
		err = errComplete
	}
	if s.err == nil {
		s.err = err
	}
}

// ReadFrom copies r until EOF. If r is a connection or a file and the destination is a file, the
// kernel moves the bytes.
func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	movable := false
	switch limited.R.(type) {
	case *net.TCPConn, *net.UnixConn, *os.File:
		movable = !s.digests()
	}
	var total int64
	var buf *[bufferSize]byte
	for {
		if movable && s.skip == 0 && s.check == nil {
			if file := s.file(); file != nil {
				n, err := s.move(file, limited)
				return total + n, err
			}
		}
		if buf == nil {
			buf = buffers.Get().(*[bufferSize]byte)
			defer func() { buffers.Put(buf) }()
		}
		n, err := limited.Read(buf[:])
		if n > 0 {
			taken, written := s.write(buf[:n])
			total += int64(taken)
			if len(written) > 0 && s.digests() {
				buf = s.sums.enqueue(buf, written)
			}
			if s.err != nil {
				return total, s.err
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func (s *sink) digests() bool { return s.sums != nil && s.sums.active() }

// file returns the file that the next bytes go to, or nil if they must go through Write.
func (s *sink) file() *os.File {
	switch w := s.w.(type) {
	case *os.File:
		return w
	case interface{ osFile() *os.File }:
		return w.osFile()
	}
	return nil
}

// move lets the kernel copy up to r.N bytes from r.R to file.
func (s *sink) move(file *os.File, r *io.LimitedReader) (int64, error) {
	var total int64
	for r.N > 0 && s.err == nil {
		s.chunk = min(max(s.chunk, minChunk), maxChunk)
		chunk := io.LimitedReader{R: r.R, N: min(r.N, s.chunk)}
		if s.left >= 0 {
			chunk.N = min(chunk.N, s.left)
		}
		size, start := chunk.N, time.Now()
		n, err := file.ReadFrom(&chunk)
		r.N -= size - chunk.N
		total += n
		if local := s.local(file, err); local {
			s.recordWrite(n, err)
		} else if s.recordWrite(n, nil); err != nil {
			return total, err
		}
		if s.err == nil && chunk.N > 0 {
			return total, nil // EOF
		}
		if time.Since(start) < slow {
			s.chunk *= 2
		} else {
			s.chunk /= 2
		}
	}
	return total, s.err
}

// local reports whether err, from (*os.File).ReadFrom, is an error of the file. While the kernel
// moves bytes, ReadFrom attributes all errors to it.
func (s *sink) local(file *os.File, err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	if !ok || pe.Path != file.Name() {
		return false
	}
	for _, remote := range []error{os.ErrDeadlineExceeded, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED,
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENOTCONN} {
		if errors.Is(err, remote) {
			return false
		}
	}
	return true
}
