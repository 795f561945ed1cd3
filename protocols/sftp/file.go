package sftp

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// The validator needs both the size and the modification time.
func describeFile(t *target, info filexfer.Attrs) fetch.Meta {
	meta := remotefile.Describe(t.name(), sizeOf(info), info.ModTime())
	if meta.Size >= 0 && !meta.ModTime.IsZero() {
		meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x", info.Size, info.MTime))
	}
	return meta
}

func sizeOf(info filexfer.Attrs) int64 {
	if !info.Has(filexfer.AttrSize) || info.Size > math.MaxInt64 {
		return -1
	}
	return int64(info.Size)
}

// file opens a file unless handle is that of the open one.
func (d *opener) file(f *flight, t *target, info filexfer.Attrs, handle string) (*fetch.Response, error) {
	fileMeta := describeFile(t, info)
	if mode := info.FileMode(); info.Has(filexfer.AttrPermissions) && !mode.IsRegular() {
		return nil, remotefile.NotFile(mode) // opening a pipe might block until there is a writer
	}
	if err := remotefile.NotModified(t.req,
		remotefile.Same(t.req.IfChanged, fileMeta.Validator)); err != nil {
		return nil, err
	}
	if t.req.Op == fetch.OpStat {
		return &fetch.Response{Meta: fileMeta, URL: t.url, Body: fetch.NoBody}, nil
	}
	var err error
	if handle == "" {
		handle, err = f.openHandle(filexfer.TypeOpen, t.path, filexfer.FlagRead, filexfer.Attrs{})
		if err != nil {
			return nil, err
		}
	}
	if t.req.WantDigest {
		if fileMeta.Digests, err = f.digest(handle); err != nil {
			return nil, err
		}
	}
	// Send the first reads without waiting for FSTAT, which shows whether the file was replaced.
	fstat := f.send(filexfer.TypeFstat, handle)
	meta := fileMeta
	b, err := f.newBody(handle, t.req, &meta)
	if err != nil {
		return nil, err
	}
	if now, err := f.attrs(f.expect(filexfer.TypeAttrs, fstat)); err == nil {
		if now := describeFile(t, now); now.Size != fileMeta.Size || now.Validator != fileMeta.Validator {
			b.Drop(f.session.abandon)
			meta = now
			meta.Digests = fileMeta.Digests // of the open file
			if b, err = f.newBody(handle, t.req, &meta); err != nil {
				return nil, err
			}
		}
	} else if !isUndescribed(err) {
		return nil, err
	}
	if meta.Size < 0 {
		// The file is empty, or the system generates its content on reading.
		switch err := b.First(); err {
		case nil:
			meta.Validator, meta.Digests = fetch.Validator{}, nil
		case io.EOF:
			meta.Size = 0
		default:
			return nil, err
		}
	}
	f.trace(true, "READ from byte "+strconv.FormatInt(meta.Range.Offset, 10))
	return &fetch.Response{Meta: meta, URL: t.url, Body: b.Start(func(error) { f.end() })}, nil
}

// The minimum and maximum number of reads in flight. The number grows with each response.
const (
	minWindow = 8
	maxWindow = 64
)

// newBody sends the first reads. A size of 0 is treated as unknown, as for generated files.
func (f *flight) newBody(handle string, req *fetch.Request,
	meta *fetch.Meta) (*remotefile.Body[*request], error) {
	if meta.Size >= 0 {
		if err := remotefile.SelectPart(req, meta,
			remotefile.Same(req.IfChanged, meta.Validator)); err != nil {
			return nil, err
		}
	}
	if meta.Size == 0 && meta.Range.IsZero() {
		meta.Size = -1
	}
	r := &reads{flight: f, handle: handle, modified: meta.ModTime}
	if meta.Size > 0 {
		r.last = meta.Range.Offset + meta.Size
	}
	if r.last == max(meta.Total, meta.Size) {
		r.end = r.last
	}
	b := remotefile.NewBody(remotefile.Reads[*request]{MinWindow: minWindow, MaxWindow: maxWindow,
		Size: filexfer.MaxData,
		Send: r.send, Receive: r.receive, Release: r.release, Arrived: r.arrived, Complete: r.complete}, meta)
	return b, b.Fill()
}

type reads struct {
	flight    *flight
	handle    string
	end       int64           // of the file; 0 if it is unknown or not reached
	last      int64           // the end of the content; 0 if it is unknown
	modified  time.Time       // when the file was opened; zero if it is unknown
	beyond    *request        // a READ at end, sent with the last of the content; nil before that
	after     *request        // an FSTAT, sent with the last of the content; nil before that
	response  response        // holds the data returned last
	closeSent <-chan struct{} // closed after CLOSE is written; nil before arrived
}

func (r *reads) send(offset int64, size int, _ bool) (*request, int, error) {
	req := r.flight.send(filexfer.TypeRead, r.handle, uint64(offset), uint32(size))
	if r.after != nil || offset+int64(size) != r.last {
		return req, size, nil
	}
	if r.last == r.end {
		r.beyond = r.flight.send(filexfer.TypeRead, r.handle, uint64(r.end), uint32(1))
	}
	r.after = r.flight.send(filexfer.TypeFstat, r.handle)
	return req, size, nil
}

func (r *reads) receive(req *request, _ int) ([]byte, error) {
	resp, err := r.flight.wait(req)
	if err != nil {
		return nil, err
	}
	if resp.Type != filexfer.TypeData {
		defer resp.release()
		if resp.Type == filexfer.TypeStatus && filexfer.Code(resp.Fields().Uint32()) == filexfer.CodeEOF {
			return nil, io.EOF
		}
		return nil, r.flight.responseError(req, resp)
	}
	r.response = resp
	fields := resp.Fields()
	data := fields.Bytes()
	if fields.Err() != nil {
		return nil, nil // Body reports a violation
	}
	return data, nil
}

func (r *reads) release() {
	r.response.release()
	r.response = response{}
}

// arrived sends CLOSE. After it is written, the connection can serve other requests.
func (r *reads) arrived() { r.closeSent = r.flight.closeHandle() }

// complete waits until CLOSE is written. It returns an error if the file has data beyond its size, or was
// modified. Servers differ in how they refuse to read there.
func (r *reads) complete() error {
	if r.beyond != nil {
		data, err := r.receive(r.beyond, 1)
		more := err == nil && len(data) > 0
		r.release()
		if more {
			return remotefile.Grown(r.end)
		}
	}
	if r.after != nil {
		now, err := r.flight.attrs(r.flight.expect(filexfer.TypeAttrs, r.after))
		if known := now.Has(filexfer.AttrACModTime) && !r.modified.IsZero(); err == nil && known &&
			!now.ModTime().Equal(r.modified) {
			return remotefile.Modified()
		}
	}
	if r.closeSent != nil {
		select {
		case <-r.closeSent:
		case <-r.flight.session.done:
		case <-r.flight.stop:
		case <-r.flight.ctx.Done():
		}
	}
	return nil
}
