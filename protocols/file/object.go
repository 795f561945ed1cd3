package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

func object(
	ctx context.Context, req *fetch.Request, f *os.File, info fs.FileInfo, idle time.Duration,
) (*fetch.Response, error) {
	if s := newStream(f, info, idle); s != nil {
		return s.respond(ctx, req, info)
	}
	meta := describe(f, info)
	if meta.Size >= 0 { // other files have neither ranges nor versions
		r, order, same := req.Range, 0, true
		if v := req.IfChanged; !v.IsZero() {
			order, same = compare(v, meta.Validator)
			if err := remotefile.NotModified(req, same || v.ETag == "" && order < 0); err != nil {
				return nil, err
			}
		}
		if same && !r.IsZero() && (r.Offset < 0 || r.Length < 0 || r.Offset >= meta.Size) {
			return nil, remotefile.OutOfRange(meta.Size)
		}
		if err := remotefile.SelectPart(req, &meta, same); err != nil {
			return nil, err
		}
		if !meta.Range.IsZero() {
			meta.Range.Length = meta.Size
		}
	}
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, Body: fetch.NoBody}, nil
	}
	if meta.Range.Offset > 0 {
		if _, err := f.Seek(meta.Range.Offset, io.SeekStart); err != nil {
			return nil, explain(err)
		}
	}
	return &fetch.Response{Meta: meta, Body: newSnapshot(ctx, f, meta.Size)}, nil
}

// describe returns the metadata of a file. The size is only known for regular files. It is also
// unknown for files of size 0 that are not empty, such as those that the kernel generates when they
// are read.
func describe(f *os.File, info fs.FileInfo) fetch.Meta {
	if !info.Mode().IsRegular() {
		meta := remotefile.Describe(info.Name(), -1, time.Time{})
		meta.Framing = fetch.FramedByClose
		return meta
	}
	meta := remotefile.Describe(info.Name(), info.Size(), info.ModTime())
	if isGenerated(f, info) {
		meta.Size, meta.Framing = -1, fetch.FramedByClose
	}
	meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x-%x", info.Size(), info.ModTime().UnixNano(), inode(info)))
	if meta.ContentType == "" || meta.Size == 0 {
		var head [sniffed]byte
		n, _ := f.ReadAt(head[:], 0)
		if meta.Size == 0 && n > 0 {
			meta.Size = -1
		}
		if meta.ContentType == "" && n > 0 {
			meta.ContentType = http.DetectContentType(head[:n])
		}
	}
	return meta
}

// sniffed is the number of bytes that tell a media type.
const sniffed = 512

// maxGenerated limits the stated size of generated files, in bytes. In sysfs it is a page.
const maxGenerated = 64 << 10

// isGenerated reports whether the kernel generates the file with less content than its stated size,
// as in sysfs. Such a file occupies no blocks.
func isGenerated(f *os.File, info fs.FileInfo) bool {
	if size := info.Size(); size == 0 || size > maxGenerated || !isWithoutBlocks(info) {
		return false
	}
	n, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), make([]byte, info.Size()))
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return false
	}
	now, err := f.Stat()
	return err == nil && now.Size() == info.Size() && int64(n) < now.Size()
}

// compare reports whether v describes the current state of the file. Order is negative if the
// file's time is older, and positive if it is newer. A time without a fraction of a second has a
// resolution of seconds.
func compare(v, now fetch.Validator) (order int, same bool) {
	t := now.ModTime
	if v.ModTime.Nanosecond() == 0 {
		t = t.Truncate(time.Second)
	}
	order = t.Compare(v.ModTime)
	if v.ETag != "" {
		return order, v.ETag == now.ETag
	}
	return order, order == 0
}
