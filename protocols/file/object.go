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

// object answers a request for a file.
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
	if meta.Size < 0 { // neither parts nor versions
		r = fetch.Range{}
	}
	if !r.IsZero() {
		if r.Offset < 0 || r.Length < 0 || r.Offset >= meta.Size {
			return nil, &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("the file has %d octets", meta.Size)}
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
	return &fetch.Response{Meta: meta, Body: newBody(ctx, f, meta.Size)}, nil
}

// describe returns the metadata of a file. The size of what is not a regular
// file is unknown, and so is that of files which the system makes up when
// they are read: these claim to be empty.
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

// compare reports whether v describes the file's present state, and by their
// times whether that is older (below 0) or newer (above 0). A time without a
// fraction comes from where there are only seconds.
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
