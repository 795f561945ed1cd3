package fetch

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"syscall"

	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// spliceChunk is the number of bytes that the kernel may move between checks of timeout and
	// context.
	spliceChunk = 4 << 20
	copyBuffer  = 64 << 10
)

// WriteTo implements io.WriterTo. It copies to w until the peer closes the connection. From a TCP
// connection to a file, Linux moves the bytes itself (splice), in chunks of 4 MiB. Each chunk is a
// call of w.ReadFrom, so a wrapper around a file should have a ReadFrom that calls the file's.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	n, _, err := c.copyTo(w, math.MaxInt64)
	return n, err
}

// WriteToN copies exactly n bytes to w, as WriteTo does. If the connection ends earlier, the error
// is io.ErrUnexpectedEOF.
func (c *Conn) WriteToN(w io.Writer, n int64) (int64, error) {
	written, eof, err := c.copyTo(w, n)
	if eof && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return written, err
}

// WriteAvailable waits for input and copies it to w, as WriteTo does, but at most max bytes. At the
// end of the connection the error is io.EOF.
func (c *Conn) WriteAvailable(w io.Writer, max int64) (int64, error) {
	if tcp, _ := c.spliceable(w); tcp != nil {
		if err := c.armRead(); err != nil {
			return 0, err
		}
		n, known, err := available(tcp)
		switch {
		case err != nil:
			return 0, c.explain("read", &c.rd, err)
		case known && n == 0:
			return 0, io.EOF
		case known:
			return c.WriteToN(w, min(n, max))
		}
	}
	n, err, werr := c.copyPiece(w, make([]byte, min(copyBuffer, max)))
	if werr != nil {
		err = werr
	}
	return n, err
}

// spliceable returns the connection and the writer between which the kernel can move bytes. It
// returns nil if it cannot, or if the bytes must be recorded.
func (c *Conn) spliceable(w io.Writer) (*net.TCPConn, io.ReaderFrom) {
	tcp, isTCP := c.conn.(*net.TCPConn)
	rf, canReadFrom := w.(io.ReaderFrom)
	if !isTCP || !canReadFrom || c.rec.Load().wantsBytes() || c.mustTimeReads() {
		return nil, nil
	}
	return tcp, rf
}

// copyTo copies at most max bytes. Eof reports whether the connection ended first.
func (c *Conn) copyTo(w io.Writer, max int64) (written int64, eof bool, err error) {
	if tcp, rf := c.spliceable(w); tcp != nil {
		return c.splice(rf, tcp, max)
	}
	return c.copyBuffered(w, max)
}

func (c *Conn) copyBuffered(w io.Writer, max int64) (written int64, eof bool, err error) {
	buf := make([]byte, min(copyBuffer, max))
	for written < max {
		n, err, werr := c.copyPiece(w, buf[:min(int64(len(buf)), max-written)])
		written += n
		switch {
		case werr != nil:
			return written, false, werr
		case err == io.EOF:
			return written, true, nil
		case err != nil:
			return written, false, err
		}
	}
	return written, false, nil
}

// copyPiece copies the result of one Read. Err is the error of the connection, werr that of the
// writer.
func (c *Conn) copyPiece(w io.Writer, buf []byte) (written int64, err, werr error) {
	n, err := c.Read(buf)
	if n == 0 {
		return 0, err, nil
	}
	m, werr := w.Write(buf[:n])
	if werr == nil && m < n {
		werr = io.ErrShortWrite
	}
	return int64(m), err, werr
}

func (c *Conn) splice(w io.ReaderFrom, tcp *net.TCPConn, max int64) (written int64, eof bool, err error) {
	for written < max {
		if err := c.armRead(); err != nil {
			return written, false, err
		}
		chunk := min(spliceChunk, max-written)
		if b, ok := w.(interface{ Room() int64 }); ok {
			if chunk = min(chunk, b.Room()); chunk == 0 {
				n, eof, err := c.copyBuffered(w.(io.Writer), 1) // the end, or excess data
				return written + n, eof, err
			}
		}
		lr := &io.LimitedReader{R: tcp, N: chunk}
		n, err := w.ReadFrom(lr)
		written += n
		if err == nil {
			if lr.N > 0 {
				return written, true, nil
			}
			continue
		}
		err = c.explain("read", &c.rd, networkError(tcp, err))
		// A slow stream may exceed the deadline of a chunk. It is not idle if bytes moved, and
		// nothing is lost if everything that was read was written.
		if _, idle := errors.AsType[*wire.TimeoutError](err); idle && n > 0 && n == chunk-lr.N {
			continue
		}
		return written, false, err
	}
	return written, false, nil
}

// networkError restores the type of a connection's error: (*os.File).ReadFrom reports all errors
// during a splice as errors of the file.
func networkError(tcp *net.TCPConn, err error) error {
	if _, ok := errors.AsType[*os.PathError](err); !ok {
		return err
	}
	for _, errno := range []syscall.Errno{syscall.ECONNRESET, syscall.ECONNABORTED, syscall.ETIMEDOUT,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, errno) {
			return &net.OpError{Op: "read", Net: "tcp", Source: tcp.LocalAddr(), Addr: tcp.RemoteAddr(),
				Err: errno}
		}
	}
	return err
}
