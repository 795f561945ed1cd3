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

// errEnough ends a copy when all that is wanted has come.
var errEnough = errors.New("that is enough")

// A sink is the end of a transfer: it drops what is not wanted, counts,
// digests, and leaves the rest to the kernel where nobody has to see the
// octets.
type sink struct {
	w     io.Writer
	sums  *sums
	skip  int64 // octets to drop first
	left  int64 // octets wanted after that; -1 means all
	chunk int64 // octets to move between two reports
	// count is told of octets written. An error ends the copy.
	count func(n int64) error
	// err is what the destination or count failed with, or errEnough; the
	// source's errors are not kept.
	err error
}

// Chunks that the kernel moves start small and grow until one takes as long
// as progress may go unreported.
const (
	minChunk = 64 << 10
	maxChunk = 8 << 20
	slow     = 200 * time.Millisecond
)

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// Write takes octets from a source that has no better way.
func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	dropped := min(s.skip, int64(len(p)))
	s.skip -= dropped
	wanted := p[dropped:]
	if s.left >= 0 && int64(len(wanted)) > s.left {
		wanted = wanted[:s.left]
	}
	n, err := s.w.Write(wanted)
	if err == nil && n < len(wanted) {
		err = io.ErrShortWrite
	}
	if s.sums != nil {
		s.sums.Write(wanted[:n])
	}
	if s.wrote(int64(n), err); s.err != nil {
		return int(dropped) + n, s.err
	}
	return len(p), nil
}

// wrote notes that n octets were written, and err.
func (s *sink) wrote(n int64, err error) {
	if n > 0 {
		if s.left >= 0 {
			s.left -= n
		}
		if e := s.count(n); err == nil {
			err = e
		}
	}
	if err == nil && s.left == 0 {
		err = errEnough
	}
	if s.err == nil {
		s.err = err
	}
}

// ReadFrom copies from r until its end. If r is a connection or a file and the
// destination a file, the kernel moves the octets.
func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	file, ok := s.w.(*os.File)
	if !ok || s.sums != nil || s.skip > 0 {
		return s.copy(r)
	}
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	switch limited.R.(type) {
	case *net.TCPConn, *net.UnixConn, *os.File:
		return s.move(file, limited)
	}
	return s.copy(r)
}

func (s *sink) copy(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buf)
	var total int64
	for {
		n, err := r.Read(buf[:])
		if n > 0 {
			m, werr := s.Write(buf[:n])
			total += int64(m)
			if werr != nil {
				return total, werr
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

// move lets the kernel copy up to r.N octets from r.R to file.
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
			s.wrote(n, err)
		} else if s.wrote(n, nil); err != nil {
			return total, err
		}
		if s.err == nil && chunk.N > 0 {
			return total, nil // the end
		}
		if time.Since(start) < slow {
			s.chunk *= 2
		} else {
			s.chunk /= 2
		}
	}
	return total, s.err
}

// local reports whether err, from (*os.File).ReadFrom, is the file's fault. It
// says so of all errors while the kernel moves octets.
func (s *sink) local(file *os.File, err error) bool {
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != file.Name() {
		return false
	}
	for _, remote := range []error{os.ErrDeadlineExceeded, net.ErrClosed, syscall.ECONNRESET, syscall.ECONNABORTED,
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENOTCONN} {
		if errors.Is(err, remote) {
			return false
		}
	}
	return true
}
