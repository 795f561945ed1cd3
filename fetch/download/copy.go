package download

import (
	"context"
	"errors"
	"io"

	"github.com/urlget/urlget/fetch"
)

// Copy writes the content to w. Like Do it reconnects, but it fails with ErrChanged where Do would
// start over: w receives each byte once, all from the same version of the resource. Exists, Known
// and Segments are ignored. A wrong checksum is detected only after everything has been written.
// After an error, the Result is like that of Do.
func (d *Downloader) Copy(ctx context.Context, req *fetch.Request, w io.Writer,
	opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	sums, err := newSums(opts)
	if err != nil {
		return nil, asError(err, req)
	}
	dup := *req
	t := newTransfer(d.Client, &dup, opts, sums, &progress{want: -1}, toWriter{}, w)
	t.forwardOnly = true
	err = t.run(ctx)
	r := t.result()
	switch err {
	case nil:
	case errNotNeeded:
		r.Outcome = NoContent
	default:
		return t.failed(""), t.finish(err)
	}
	return r, nil
}

// toWriter is the destination of Copy. It holds no bytes that could be compared or read again, so a
// transfer with forwardOnly calls none of its last five methods.
type toWriter struct{}

func (toWriter) begin(_ context.Context, resp *fetch.Response) error {
	switch resp.Kind {
	case fetch.KindSession:
		return &fetch.Error{Code: fetch.ErrInteractive}
	case fetch.KindNone:
		return errNotNeeded
	}
	return nil
}

func (toWriter) rewind() error        { return errors.ErrUnsupported }
func (toWriter) truncate(int64) error { return errors.ErrUnsupported }
func (toWriter) written() error       { return nil }
func (toWriter) commit() error        { return nil }
func (toWriter) abandon(bool)         {}

func (toWriter) unproven() io.ReaderAt { return nil }
func (toWriter) distrust() bool        { return false }
func (toWriter) doubtful() bool        { return false }

func (toWriter) prove(context.Context) error           { return errors.ErrUnsupported }
func (toWriter) disprove() error                       { return errors.ErrUnsupported }
func (toWriter) divide() error                         { return errors.ErrUnsupported }
func (toWriter) writeAt(int64) (io.WriteCloser, error) { return nil, errors.ErrUnsupported }
func (toWriter) digest(context.Context) error          { return errors.ErrUnsupported }
