package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Manifest states the content of a file, and the URLs that have it. It is a line of a lock file
// ([ReadLocks]) or a file of a Metalink document (package metalink).
type Manifest struct {
	// Name is the path of the file, with elements separated by slashes.
	Name string
	Size int64 // in bytes; -1 if unknown
	// Checksum is as in Options; "" if it is unknown. That of a lock file is a SHA-256.
	Checksum string
	Pieces   *Pieces // nil if no hashes of pieces are known
	// URLs have the content, preferred ones first. Those of a lock file are the URL that the user
	// named and its mirrors, at most 64.
	URLs []uri.URI
	// From is the URL of the resource that named URLs, if a server did. They are then retrieved under
	// the policy for URLs from servers (see fetch.Request.From).
	From uri.URI

	// ContentType and Validator are those of the first URL, and Time is when it was retrieved; zero if
	// unknown. They prove nothing. Only lock files have them.
	ContentType string
	fetch.Validator
	Time time.Time
	// Line is the number of the line in the lock file, from 1. It is set by ReadLocks.
	Line int
}

// Pieces are the hashes of the pieces of a file.
type Pieces struct {
	Length int64    // of each piece except the last one, in bytes
	Sums   [][]byte // in the order of the pieces
	New    func() hash.Hash
}

// maxMirrors limits the URLs of a Manifest in a lock file, besides the first one.
const maxMirrors = 64

// AddMirror appends u without its password and its fragment to the URLs of a line of a lock file,
// unless it is there already or the line has the most mirrors.
func (m *Manifest) AddMirror(u uri.URI) {
	u = u.WithoutPassword().WithoutFragment()
	if !slices.Contains(m.URLs, u) && len(m.URLs) <= maxMirrors {
		m.URLs = append(m.URLs, u)
	}
}

// DoSources saves the file that m describes as name (see Get), or as m.Name if name is "". URLs of
// unsupported schemes are skipped.
//
// If the size of the file and the hashes of its pieces are known, pieces come from several URLs in
// parallel: Options.Segments of them, or 4, with one request at a time each. A piece has at most
// 64 MiB. It is written once its hash is verified. A URL that sends a wrong piece, or fails, is
// dropped, and other URLs take over. With Resume, pieces of an interrupted transfer are reused if
// their hashes match.
//
// Otherwise the URLs are tried one by one for the whole file, until one sends the right size and
// checksum. If all fail, the error is that of the last.
func (d *Downloader) DoSources(ctx context.Context, m *Manifest, name string,
	opts *Options) (res *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	o := *opts
	o.Checksum = cmp.Or(o.Checksum, m.Checksum)
	name = cmp.Or(name, m.Name)
	schemes := d.Client.Schemes()
	urls := slices.DeleteFunc(slices.Clone(m.URLs), func(u uri.URI) bool {
		return !slices.ContainsFunc(schemes, func(s fetch.Scheme) bool {
			return s.Name == u.Scheme() && s.Can(fetch.OpGet)
		})
	})
	if len(urls) == 0 {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrNotRetrievable,
			Err: fmt.Errorf("%s: none of its %d sources has a supported scheme", name, len(m.URLs))}
	}
	if opts.Checksum == "" && m.Checksum != "" {
		defer func() {
			if res != nil && res.Proof != nil && res.Proof.By == byChecksum {
				res.Proof.By = "metalink"
			}
		}()
	}
	if m.hasUsablePieces() && name != "" {
		return d.doPieces(ctx, m, urls, name, &o)
	}
	requests := make([]*fetch.Request, len(urls))
	for i, u := range urls {
		requests[i] = &fetch.Request{URL: u, From: m.From, WantDigest: o.Checksum == ""}
	}
	return d.trySources(ctx, m.Size, requests, name, &o)
}

// trySources sends one request after the other, until one returns the whole file. Size is -1 if
// unknown. If all fail, the error is that of the last.
func (d *Downloader) trySources(ctx context.Context, size int64, requests []*fetch.Request, name string,
	opts *Options) (*Result, error) {
	o := *opts
	o.Response = func(resp *fetch.Response) error {
		if resp.Range.IsZero() && resp.Size >= 0 && size >= 0 && resp.Size != size {
			return otherContent(resp.URL,
				fmt.Errorf("the resource has %d bytes, expected %d", resp.Size, size))
		}
		if opts.Response != nil {
			return opts.Response(resp)
		}
		return nil
	}
	for i, req := range requests {
		res, err := d.Do(ctx, req, name, &o)
		if err == nil || ctx.Err() != nil || i == len(requests)-1 {
			return res, err
		}
		switch fetch.CodeOf(err) {
		case fetch.ErrFile, fetch.ErrRequest:
			return nil, err
		}
		if opts.Dropped != nil {
			opts.Dropped(req.URL, err)
		}
	}
	panic("unreachable")
}

func otherContent(u uri.URI, err error) error {
	return &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrChecksum, Err: err}
}

// DoLocked saves the content that m, a line of a lock file, states as m.Name, relative to opts.Dir. If
// no URL has exactly that content, there is no file, and the error is of class ErrChecksum if one had
// other content; otherwise it is that of the first.
//
// Mirrors are retrieved under the policy for URLs from the first URL. If the file has the content, the
// outcome is Unchanged and no request is sent. Another file is replaced once the content is verified;
// with Skip it is an error of class ErrChecksum. A partial file of an earlier run is resumed.
// Opts.Checksum is ignored, and so are the other values of opts.Exists.
func (d *Downloader) DoLocked(ctx context.Context, m *Manifest, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	if len(m.URLs) == 0 {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrRequest,
			Err: errors.New("a manifest without URLs")}
	}
	o := *opts
	first := m.URLs[0]
	requests := make([]*fetch.Request, len(m.URLs))
	for i, u := range m.URLs {
		requests[i] = &fetch.Request{URL: u, From: m.From}
		if i > 0 {
			requests[i].From = cmp.Or(m.From, first)
		}
	}
	o.Checksum, o.owner = m.Checksum, first.WithoutUserinfo().String()
	if err := cmp.Or(CheckName(o.Dir), CheckName(m.Name), CheckChecksum(o.Checksum)); err != nil {
		return nil, asError(err, requests[0])
	}
	res, err := d.findLocked(ctx, m, &o)
	if err != nil {
		return nil, (&transfer{req: requests[0]}).finish(err)
	}
	if res != nil {
		return res, nil
	}
	reused := false
	o.Reuse = func(proof string) {
		if reused = true; opts.Reuse != nil {
			opts.Reuse(proof)
		}
	}
	var failed []error
	o.Dropped = func(u uri.URI, err error) {
		failed = append(failed, err)
		if opts.Dropped != nil {
			opts.Dropped(u, err)
		}
	}
	res, err = d.trySources(ctx, m.Size, requests, m.Name, &o)
	if reused && fetch.CodeOf(err) == fetch.ErrChecksum && ctx.Err() == nil {
		failed = nil // the wrong bytes may be those of an earlier run, which are removed now
		res, err = d.trySources(ctx, m.Size, requests, m.Name, &o)
	}
	if err == nil || ctx.Err() != nil {
		return res, err
	}
	return res, worst(append(failed, err))
}

// worst returns the error that says most about a file that no URL has.
func worst(failed []error) error {
	for _, err := range failed {
		if code := fetch.CodeOf(err); code == fetch.ErrChecksum || code == fetch.ErrFile {
			return err
		}
	}
	return failed[0]
}

// findLocked returns a result if the file has the content, and otherwise sets o.Exists.
func (d *Downloader) findLocked(ctx context.Context, m *Manifest, o *Options) (*Result, error) {
	at := newPlace(d, o.Dir, m.Name)
	o.ResumePart = true
	skip := o.Exists == Skip
	o.Exists = Resume // the file does not exist, but a part may
	err := at.openDir(false)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer at.closeDir()
	if _, err := at.dir.lstat(at.name); err != nil {
		return nil, ignoreMissing(err)
	}
	o.Exists = Overwrite
	sums, err := m.sumsOf(ctx, at.dir, at.name)
	switch {
	case err != nil:
		return nil, err
	case sums != nil && sums.verify() == nil:
		at.removeStrayRecord()
		return &Result{Outcome: Unchanged, Name: at.path(at.name), Size: m.Size, SHA256: sums.hex256(),
			Proof: sums.proof()}, nil
	case skip:
		return nil, &fetch.Error{Code: fetch.ErrChecksum,
			Err: fmt.Errorf("%s exists and has other content", at.path(at.name))}
	}
	return nil, nil
}

// sumsOf digests a file. It returns nil if the file cannot be that of m.
func (m *Manifest) sumsOf(ctx context.Context, dir directory, name string) (*sums, error) {
	f, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		if errors.Is(err, errNotRegular) || errors.Is(err, fs.ErrPermission) {
			return nil, nil // it is replaced, or that fails
		}
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != m.Size {
		return nil, err
	}
	s, err := newSums(&Options{Checksum: m.Checksum})
	if err == nil {
		_, err = io.Copy(s, &contextReader{ctx, f})
	}
	return s, err
}
