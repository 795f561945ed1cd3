// Package download saves resources as files: a file appears under its name complete or not at all,
// interrupted transfers continue where they stopped, and an existing file is never damaged.
//
// During a transfer, its bytes are in NAME.part. NAME.part.json records what they belong to: the
// URL without login, the validator, the size and, for a transfer in segments, what is missing. A
// small file needs neither, because it is kept in memory until it is complete. A transfer of less
// than 1 MiB gets a record only if it is interrupted.
//
// A part is continued if the server's response proves, by the recorded validator, that the resource
// has not changed; otherwise the transfer starts over. A time together with a size counts as a
// validator, so a change that alters neither, for instance within the same second, goes unnoticed.
//
// [Resume] also continues a file NAME without a record. Then the response must begin up to 64 KiB
// before the end of the file, and that overlap must be identical byte for byte. If it is not, or if
// the file is longer than the resource, the file is left as it is, and the error is of class
// ErrChanged with ReasonNotBeginning. An overlap proves nothing about the bytes before it; a
// checksum does, because it always covers the whole file.
//
// Everything is written through an [os.Root], so no name and no symbolic link can lead outside of
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

// A Downloader saves resources as files below Root. It is safe for concurrent use. When saving many
// files, one Downloader is much faster than several, because it keeps directories open and makes
// files durable together. Call Flush after the last file.
type Downloader struct {
	Client *fetch.Client
	Root   *os.Root // not used by Copy
	// Tool is the name and version of the program, for the record of an unfinished file. It may be
	// empty.
	Tool string
	// Sync says when files are made durable. The zero value leaves that to Flush.
	Sync Sync

	dirs    directories
	numbers numbers
	unsaved pending
}

// Get saves rawURL as name, a path below Root with elements separated by slashes. Directories are
// created as needed. If name is "", a single element is chosen by [Name].
func (d *Downloader) Get(ctx context.Context, rawURL, name string, opts *Options) (*Result, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrURL, Err: err}
	}
	return d.Do(ctx, &fetch.Request{URL: u}, name, opts)
}

// Do is Get with a request. If the request has a Range, that part is saved as if it were the whole;
// such a transfer cannot be resumed by a later run. The same holds if the request sends something:
// what answers it is asked for again only as a whole, and only if what is sent can be sent again.
//
// Errors are of type *fetch.Error. Those of the local file system are of class ErrFile and are
// never retried. After an error, the unfinished part is kept if a later run can continue it. The
// Result then says only how much was transferred (Written); it is nil if that is nothing.
func (d *Downloader) Do(ctx context.Context, req *fetch.Request, name string, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	sums, err := newSums(opts)
	if err == nil && opts.Exists == Resume && (!req.Range.IsZero() || len(req.Ranges) > 0) {
		err = errors.New("a range cannot be resumed")
	}
	if err == nil && req.Sends() && (opts.Exists == Resume || opts.Exists == Newer) {
		err = errors.New("the answer to what is sent cannot be compared with what exists")
	}
	if err == nil {
		err = cmp.Or(CheckName(opts.Dir), CheckName(name))
	}
	if err != nil {
		return nil, asError(err, req)
	}
	own := *req
	p := &progress{want: -1}
	if name == "" && opts.Exists == Newer {
		name = d.expected(&own)
	}
	f := newToFile(d, &own, name, opts, sums, p)
	defer f.close()
	t := newTransfer(d.Client, &own, opts, sums, p, f, f)
	if err = f.prepare(ctx); err == nil {
		err = t.run(ctx)
	}
	if opts.Exists == Newer && !f.begun && fetch.CodeOf(err) == fetch.ErrNotModified {
		f.outcome, err = Unchanged, errOver
	}
	r := t.result()
	switch {
	case err == nil:
		r.Name = f.path(f.name)
	case err == errOver:
		err = f.describe(r)
	}
	if err != nil {
		if r = nil; t.received > 0 {
			r = &Result{Size: -1, Written: t.received}
		}
		return r, t.finish(err)
	}
	return r, nil
}
