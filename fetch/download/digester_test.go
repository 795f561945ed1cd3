package download

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"
)

// A stingy writer fails after room bytes.
type stingy struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("full")

func (w *stingy) Write(p []byte) (int, error) {
	if len(p) <= w.room {
		w.room -= len(p)
		return w.Buffer.Write(p)
	}
	n, _ := w.Buffer.Write(p[:w.room])
	w.room = 0
	return n, errFull
}

// chunks delivers content in pieces of size bytes. Its writeTo overwrites the buffer after each
// Write.
type chunks struct {
	content []byte
	size    int
	buf     []byte
	err     error // at the end
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.content) == 0 {
		return 0, c.err
	}
	n := copy(p, c.content[:min(c.size, len(c.content))])
	c.content = c.content[n:]
	return n, nil
}

func (c *chunks) writeTo(w io.Writer) error {
	c.buf = make([]byte, c.size)
	for {
		n, err := c.Read(c.buf)
		if n > 0 {
			if _, err := w.Write(c.buf[:n]); err != nil {
				return err
			}
			clear(c.buf)
		}
		if err != nil {
			return err
		}
	}
}

// The digest covers exactly the bytes written, however the stream ends.
func TestDigestDuringTransfer(t *testing.T) {
	t.Parallel()
	content := make([]byte, 5<<20)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	broken := errors.New("broken")
	for _, size := range []int{1, 1000, minConcurrent - 1, minConcurrent, 100_000, bufferSize, bufferSize + 1, 3 << 20} {
		most := min(len(content), 200_000+8*size) // more than the queue holds
		for _, tt := range []struct {
			name       string
			length     int
			room       int
			skip, left int64
			err        error // of the source
		}{
			{"all", most, most, 0, -1, io.EOF},
			{"empty", 0, most, 0, -1, io.EOF},
			{"a window", most, most, 70_000, int64(most / 5), io.EOF},
			{"a full disk", most, most/4 + 567, 0, -1, io.EOF},
			{"a broken source", most/2 + 678, most, 0, -1, broken},
		} {
			for _, way := range []string{"ReadFrom", "Write"} {
				t.Run(fmt.Sprintf("%s/%d/%s", tt.name, size, way), func(t *testing.T) {
					t.Parallel()
					sums, err := newSums(&Options{SHA256: true})
					if err != nil {
						t.Fatal(err)
					}
					w := &stingy{room: tt.room}
					s := &sink{w: w, sums: sums, skip: tt.skip, left: tt.left, counter: countFunc(func(int64) error { return nil })}
					source := &chunks{content: content[:tt.length], size: size, err: tt.err}
					if way == "ReadFrom" {
						_, err = s.ReadFrom(source)
					} else {
						err = source.writeTo(s)
					}
					sums.wait()
					want := fmt.Sprintf("%x", sha256.Sum256(w.Bytes()))
					if got := sums.hex256(); got != want {
						t.Errorf("got %s of %d bytes, want %s; %v, %v", got, w.Len(), want, err, s.err)
					}
					if sums.digester.queue != nil {
						t.Error("the goroutine has not ended")
					}
				})
			}
		}
	}
}

// A digest can be reset. After a pause, it continues with bytes that are hashed synchronously.
func TestDigestOrder(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	sums, err := newSums(&Options{Checksum: "sha256:" + fmt.Sprintf("%x", sha256.Sum256(content)), SHA256: true})
	if err != nil {
		t.Fatal(err)
	}
	sums.enqueueCopy(content)
	sums.reset()
	for rest := content; len(rest) > 0; {
		n := min(len(rest), 3+len(rest)/3)
		if n%2 == 0 {
			sums.enqueueCopy(rest[:n])
		} else {
			sums.Write(rest[:n])
		}
		rest = rest[n:]
	}
	if err := sums.verify(); err != nil {
		t.Error(err)
	}
	if got, want := sums.hex256(), fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
