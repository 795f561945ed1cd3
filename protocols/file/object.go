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
)

// object returns the response for a file.
func object(ctx context.Context, req *fetch.Request, f *os.File, info fs.FileInfo) (*fetch.Response, error) {
	meta := describe(f, info)
	r := req.Range
	if v := req.IfChanged; !v.IsZero() && meta.Size >= 0 {
		order, same := compare(v, meta.Validator)
		if r.IsZero() && (same || v.ETag == "" && order < 0) {
			return nil, &fetch.Error{Code: fetch.ErrNotModified}
		}
		if !same {
			r = fetch.Range{}
		}
	}
	if meta.Size < 0 { // neither ranges nor versions
		r = fetch.Range{}
	}
	if !r.IsZero() {
		if r.Offset < 0 || r.Length < 0 || r.Offset >= meta.Size {
			return nil, &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("the file has %d bytes", meta.Size)}
		}
		meta.Total = meta.Size
		meta.Size -= r.Offset
		if r.Length > 0 {
			meta.Size = min(meta.Size, r.Length)
		}
		meta.Range = fetch.Range{Offset: r.Offset, Length: meta.Size}
	}
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, Body: http.NoBody}, nil
	}
	if r.Offset > 0 {
		if _, err := f.Seek(r.Offset, io.SeekStart); err != nil {
			return nil, explain(err)
		}
	}
	return &fetch.Response{Meta: meta, Body: newSnapshot(ctx, f, meta.Size)}, nil
}

// describe returns the metadata of a file. The size is unknown unless it is a regular file. It is
// also unknown for files that claim to be empty but are not, such as those that the kernel
// generates when they are read.
func describe(f *os.File, info fs.FileInfo) fetch.Meta {
	meta := fetch.Meta{Size: -1, Name: fetch.SafeName(info.Name()), ContentType: fetch.TypeByName(info.Name())}
	if !info.Mode().IsRegular() {
		meta.Framing = fetch.FramedByClose
		return meta
	}
	meta.Size = info.Size()
	meta.ModTime = info.ModTime()
	meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x-%x", info.Size(), info.ModTime().UnixNano(), inode(info)))
	if meta.ContentType == "" || meta.Size == 0 {
		var head [512]byte
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

// compare reports whether v describes the current state of the file. Order says whether the file's
// time is older (negative) or newer (positive). A time without a fraction of a second comes from a
// source with a resolution of seconds.
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
