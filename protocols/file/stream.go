package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A stream reads a file of the kernel whose content may come later, such as /proc/kmsg: it looks like
// an empty file, but can be polled. What is read cannot be read again.
type stream struct {
	file *os.File
	idle time.Duration // limit of the wait for content; 0 means none
	head []byte        // read ahead
}

// newStream returns nil for other files.
func newStream(f *os.File, info fs.FileInfo, idle time.Duration) *stream {
	if !info.Mode().IsRegular() || info.Size() > 0 || f.SetReadDeadline(time.Time{}) != nil {
		return nil
	}
	return &stream{file: f, idle: idle}
}

func (s *stream) respond(
	ctx context.Context, req *fetch.Request, info fs.FileInfo,
) (*fetch.Response, error) {
	meta := remotefile.Describe(info.Name(), -1, info.ModTime())
	meta.Framing = fetch.FramedByClose
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, Body: fetch.NoBody}, nil
	}
	b := newSnapshot(ctx, s.file, -1)
	b.stream = s
	head := make([]byte, sniffed)
	n, err := b.Read(head)
	if err != nil && err != io.EOF {
		return nil, errors.Join(err, b.Close())
	}
	if s.head = head[:n]; n > 0 && meta.ContentType == "" {
		meta.ContentType = http.DetectContentType(s.head)
	}
	if err == io.EOF {
		meta.Size = 0
	}
	return &fetch.Response{Meta: meta, Body: b}, nil
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	if s.idle > 0 {
		if err := s.file.SetReadDeadline(time.Now().Add(s.idle)); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fetch.ErrFile.Errorf("no content within %v", s.idle)
	}
	return n, err
}
