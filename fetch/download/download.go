// Package download saves resources as files: a file gets its name once it is complete, interrupted
// transfers resume where they stopped, and an existing file is never damaged.
//
// During a transfer, its bytes are in a partial file, NAME.part. The record in NAME.part.json
// identifies the resource: the URL without credentials, the validator and the size. For a transfer
// in segments it also lists the missing ranges. A small file needs neither, because it is kept in
// memory until it is complete. A transfer of less than 1 MiB gets a record only if it is
// interrupted.
//
// A partial file is resumed if the response proves, by the recorded validator, that the resource
// has not changed. A time together with a size counts as a validator, so a change that alters neither,
// such as one within the same second, goes unnoticed. If only the validator differs, or is weak, the
// first and the last 64 KiB of the bytes may prove it instead. If the response proves a new version, the
// transfer starts over. If it contradicts what is known, the whole resource is requested once, to compare
// it with the bytes; if that fails too, the bytes are kept and the error is of class ErrTruncated with
// ReasonContradiction (see docs/reliability.md).
//
// [Resume] also resumes a file NAME without a record. Then up to 64 KiB at its beginning and at its end
// are requested again and must be identical. If they are not, or if the file is longer than the
// resource, the file is not changed. The error is then of class ErrChanged with ReasonNotBeginning. An
// overlap proves nothing about the bytes between; a checksum or a digest that the server states does,
// because it always covers the whole file.
//
// Files are written through an [os.Root], so neither a name nor a symbolic link can lead outside of
// the directory.
package download

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Downloader saves resources as files below Root. It is safe for concurrent use. For many files,
// one Downloader is much faster than several, because it keeps directories open and syncs files
// together. Call Flush after the last file.
type Downloader struct {
	Client *fetch.Client
	Root   *os.Root // not used by Copy
	// Tool is the name and version of the program, for the record of a partial file. It may be
	// empty.
	Tool string
	// Sync selects when files are synced. The zero value leaves that to Flush.
	Sync Sync

	dirs    directories
	numbers numbers
	unsaved pending
}

// Get saves rawURL as name, a path below Root with elements separated by slashes. Directories are
// created as needed. If name is "", a single element is chosen by [Name]. A listing is saved like a
// document, in its native form.
func (d *Downloader) Get(ctx context.Context, rawURL, name string, opts *Options) (*Result, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrURL, Err: err}
	}
	return d.Do(ctx, &fetch.Request{URL: u}, name, opts)
}

// Do is Get with a request. If the request has a Range, only that range is saved, as a complete
// file. A later run cannot resume such a transfer, nor one whose request has a body. A request with
// a body is retried from the beginning, and only if its body can be sent again.
//
// Errors are of type *fetch.Error. Those of the local file system are of class ErrFile and are
// never retried. After an error, the partial file is kept, except after ErrChecksum or for a range or a
// request with a body. The Result
// then holds only the number of bytes transferred (Written) and the name that the complete file would
// have had (see Downloader.Partial). It is nil if no bytes were transferred.
func (d *Downloader) Do(ctx context.Context, req *fetch.Request, name string,
	opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	x := &struct { // one allocation
		req      fetch.Request
		progress progress
		sums     sums
		file     toFile
		transfer transfer
	}{req: *req, progress: progress{want: -1}}
	err := x.sums.init(opts)
	if err == nil && opts.Exists == Resume && (!req.Range.IsZero() || len(req.Ranges) > 0) {
		err = errors.New("a range cannot be resumed")
	}
	if err == nil && req.Sends() && (opts.Exists == Resume || opts.Exists == Newer) {
		err = errors.New("the response to a request with a body cannot be compared with an existing file")
	}
	if err == nil {
		err = cmp.Or(CheckName(opts.Dir), CheckName(name))
	}
	if err != nil {
		return nil, asError(err, req)
	}
	if name == "" && opts.Exists == Newer {
		name = d.expected(&x.req)
	}
	f, t := &x.file, &x.transfer
	f.init(d, &x.req, name, opts, &x.sums, &x.progress)
	defer f.close()
	t.init(d.Client, &x.req, opts, &x.sums, &x.progress, f, f)
	if err = f.prepare(ctx); err == nil {
		err = t.run(ctx)
	}
	if opts.Exists == Newer && !f.begun && fetch.CodeOf(err) == fetch.ErrNotModified {
		f.outcome, err = Unchanged, errNotNeeded
	}
	r := t.result()
	switch {
	case err == nil:
		f.describeSaved(r)
	case err == errNotNeeded:
		err = f.describe(r)
	}
	if err != nil {
		return t.failed(f.completePath()), t.finish(err)
	}
	return r, nil
}
