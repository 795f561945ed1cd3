package sftp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// describeFile returns the metadata of a file with the given attributes. Without size and time,
// there is no way to tell whether it has changed.
func describeFile(t *target, info filexfer.Attrs) driver.Meta {
	meta := remotefile.Describe(t.name(), sizeOf(info), info.ModTime())
	if meta.Size >= 0 && !meta.ModTime.IsZero() {
		meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x", info.Size, info.MTime))
	}
	return meta
}

// sizeOf returns the size of a file, or -1 if it is unknown.
func sizeOf(info filexfer.Attrs) int64 {
	if !info.Has(filexfer.HasSize) || info.Size > math.MaxInt64 {
		return -1
	}
	return int64(info.Size)
}

// file returns the response for anything but a directory.
func (d *opener) file(f *flight, t *target, info filexfer.Attrs) (*driver.Response, error) {
	whole := describeFile(t, info)
	if mode := info.FileMode(); info.Has(filexfer.HasMode) && !mode.IsRegular() {
		return nil, remotefile.NoFile(mode) // opening a pipe might block until there is a writer
	}
	if err := remotefile.NotModified(t.req, remotefile.Same(t.req.IfChanged, whole.Validator)); err != nil {
		return nil, err
	}
	if t.req.Op == driver.OpStat {
		return &driver.Response{Meta: whole, URL: t.url, Body: driver.NoBody}, nil
	}
	handle, err := f.openHandle(filexfer.TypeOpen, t.path, filexfer.OpenRead, filexfer.Attrs{})
	if err != nil {
		return nil, err
	}
	// The first reads are sent before it is known whether the file has been replaced.
	again := f.send(filexfer.TypeFstat, handle)
	meta := whole
	b, err := f.newBody(handle, t.req, &meta)
	if err != nil {
		return nil, err
	}
	if now, err := f.attrs(f.expect(filexfer.TypeAttrs, again)); err == nil {
		if now := describeFile(t, now); now.Size != whole.Size || now.Validator != whole.Validator {
			b.Drop(f.session.abandon)
			meta = now
			if b, err = f.newBody(handle, t.req, &meta); err != nil {
				return nil, err
			}
		}
	} else if driver.CodeOf(err) != driver.ErrRefused && driver.CodeOf(err) != driver.ErrServer {
		return nil, err
	}
	if meta.Size < 0 {
		// The file is empty, or one that the system generates when it is read.
		switch err := b.First(); err {
		case nil:
			meta.Validator = driver.Validator{}
		case io.EOF:
			meta.Size = 0
		default:
			return nil, err
		}
	}
	if f.trace != nil {
		f.trace(true, "READ from byte "+strconv.FormatInt(meta.Range.Offset, 10))
	}
	return &driver.Response{Meta: meta, URL: t.url, Body: b.Start(func(error) { f.end() })}, nil
}

// The number of reads in flight. It grows with each one that is answered.
const (
	firstWindow = 8
	lastWindow  = 64
)

// newBody returns the body for the part of the file that is requested, and sends the first reads. The
// size of a file that seems to be empty is not known.
func (f *flight) newBody(handle string, req *driver.Request, meta *driver.Meta) (*remotefile.Body[*request], error) {
	if meta.Size >= 0 {
		if err := remotefile.SelectPart(req, meta, remotefile.Same(req.IfChanged, meta.Validator)); err != nil {
			return nil, err
		}
	}
	if meta.Size == 0 && meta.Range.IsZero() {
		meta.Size = -1
	}
	r := &reads{flight: f, handle: handle}
	b := remotefile.NewBody(remotefile.Reads[*request]{MinWindow: firstWindow, MaxWindow: lastWindow, Size: filexfer.MaxData,
		Send: r.send, Receive: r.receive, Release: r.release, Arrived: r.arrived, Complete: r.complete,
		Lost: func(err error) bool { return errors.Is(err, errLost) }}, meta)
	return b, b.Fill()
}

// reads performs the reads of a body.
type reads struct {
	flight   *flight
	handle   string
	response response        // what the reader has a piece of
	closed   <-chan struct{} // closed when CLOSE has been sent; nil before
}

func (r *reads) send(offset int64, size int, _ bool) (*request, int, error) {
	return r.flight.send(filexfer.TypeRead, r.handle, uint64(offset), uint32(size)), size, nil
}

func (r *reads) receive(req *request, _ int) ([]byte, error) {
	a, err := r.flight.wait(req)
	if err != nil {
		return nil, err
	}
	if a.Type != filexfer.TypeData {
		defer a.release()
		if a.Type == filexfer.TypeStatus && filexfer.Code(a.Fields().Uint32()) == filexfer.CodeEOF {
			return nil, io.EOF
		}
		return nil, r.flight.refused(req, a)
	}
	r.response = a
	fields := a.Fields()
	data := fields.Bytes()
	if fields.Err() != nil {
		return nil, nil // which is a violation too
	}
	return data, nil
}

func (r *reads) release() {
	r.response.release()
	r.response = response{}
}

// arrived sends CLOSE. The connection is free once it has been sent.
func (r *reads) arrived() { r.closed = r.flight.closeHandle() }

func (r *reads) complete() error {
	if r.closed != nil {
		select {
		case <-r.closed:
		case <-r.flight.session.dead:
		case <-r.flight.stop:
		case <-r.flight.ctx.Done():
		}
	}
	return nil
}
