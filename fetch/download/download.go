// Package download saves resources as files: a file appears under its name
// complete or not at all, interrupted transfers go on where they stopped, and
// a file that is already there is never damaged.
//
// While a transfer runs, its octets are in NAME.part. Beside it NAME.part.json
// says what they are a part of: the URL without its password, the validator,
// the size and, for a transfer in segments, what is missing. A small file that
// arrives in one go never gets this record. A part is continued only with a
// validator, and only if the server's answer proves that it still has the same
// object; otherwise the transfer starts again from zero.
//
// Everything is written through an [os.Root], so that no name and no symbolic
// link leads out of the directory.
package download

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Downloader saves resources as files directly below Root. It is safe for
// concurrent use.
type Downloader struct {
	Client *fetch.Client
	Root   *os.Root // not needed by Copy
	// Tool is the name and version of the program, for the record beside an
	// unfinished file. It may be empty.
	Tool string
}

// Exists says what to do if there is a file of the chosen name.
type Exists uint8

// What to do if there is a file of the chosen name.
const (
	// NewName saves as NAME.1, or NAME.2 and so on.
	NewName Exists = iota
	// Overwrite replaces the file by the complete new one in one step.
	Overwrite
	// Skip leaves the file and retrieves nothing.
	Skip
	// Resume continues NAME.part. Without one, a file of the same size and
	// time as the resource is taken for complete; any other is replaced only
	// if it turns out to be the beginning of the resource, as tools leave it
	// that write under the final name. Otherwise the new file gets a new
	// name.
	Resume
	// Newer retrieves the resource only if it is not as old as the file, or
	// differs in size, and replaces the file in one step.
	Newer
)

// Options say how to retrieve. Nil means the zero value.
type Options struct {
	Exists Exists
	// Tries is how often to try in a row without any progress; 0 means 5,
	// less than 0 means without end. Only errors that may pass are a reason
	// to try again (fetch.Error.Retry).
	Tries int
	// Wait bounds the pause before the second try. The bound doubles with
	// each further one, up to a minute, and the pause is a random part of it,
	// but never less than the server asked for. 0 means one second.
	Wait time.Duration
	// Segments is how many ranges of a large file to retrieve at once, if
	// size, validator and scheme allow it. 0 and 1 mean one stream.
	Segments int
	// Checksum is what the content must have: "sha256:" and hexadecimal
	// digits, or sha512, sha384, sha224, sha1, md5. If it has not, the error
	// is of class ErrChanged and nothing is kept.
	Checksum string
	// SHA256 asks for Result.SHA256. It costs the fastest way to the disk, as
	// the octets must then be seen.
	SHA256 bool

	// Progress is called as octets come: how many of the content there are,
	// counting those of an earlier run, and how many there will be, or -1. It
	// must be quick. Calls do not overlap.
	Progress func(done, total int64)
	// Response is called with each response before its Body is read, also
	// with those that continue a transfer. An error ends the download with
	// it. It may put another Body in place that is made of the first, if it
	// corrects the Meta: such content has no ETag, and Size is -1 if unknown.
	// Calls do not overlap.
	Response func(*fetch.Response) error
	// Listing, if not nil, is given the directory, menu or index that the URL
	// turns out to be, unless a name was asked for. It reads the response and
	// need not close it; nothing is saved. Without it a listing is saved like
	// a document, in its native form.
	Listing func(*fetch.Response) error
	// Retry is called before the pause that precedes another try: how many
	// in a row have failed, the pause, and why. Calls do not overlap.
	Retry func(failed int, wait time.Duration, err error)
	// Restart is called when octets that are there already cannot be
	// continued, and the transfer starts from zero. Calls do not overlap.
	Restart func(reason string)
}

// A Result tells what became of a download.
type Result struct {
	Outcome Outcome
	// Name is the file's name below Root; "" if there is none.
	Name string
	// Size is that of the content, Written how much of it came in this run.
	Size, Written int64
	SHA256        string // hexadecimal, if asked for
	// URL is where the content came from, after redirects; Meta is what the
	// last response said. Both are zero if nothing was asked.
	URL  uri.URI
	Meta fetch.Meta
}

// An Outcome is how a download ended well.
type Outcome uint8

// The outcomes.
const (
	Saved       Outcome = iota // the file is there; by Copy: all is written
	Existed                    // the file was there and was left, by Skip or Resume
	NotModified                // the file is as new as the resource
	Listed                     // Options.Listing had it
)

// Get saves rawURL as name, one file name without a directory. If name is "",
// it is chosen by [Name].
func (d *Downloader) Get(ctx context.Context, rawURL, name string, opts *Options) (*Result, error) {
	u, err := uri.Parse(rawURL)
	if err != nil {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrURL, Err: err}
	}
	return d.Do(ctx, &fetch.Request{URL: u}, name, opts)
}

// Do is Get with a request. If the request has a Range, that part is saved as
// if it were the whole; such a transfer cannot be resumed by a later run.
//
// Errors are of type *fetch.Error; those of the file system are of class
// ErrFile, and never a reason to try again. After an error the unfinished part
// stays, if a later run can continue it.
func (d *Downloader) Do(ctx context.Context, req *fetch.Request, name string, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	sums, err := newSums(opts)
	if err == nil && name != "" {
		err = checkName(name)
	}
	if err == nil && opts.Exists == Resume && !req.Range.IsZero() {
		err = errors.New("a range cannot be resumed")
	}
	if err != nil {
		return nil, &fetch.Error{Op: "save", URL: req.URL.Redacted(), Err: err}
	}
	s := newSaving(d, req, name, opts, sums)
	r, err := s.save(ctx)
	if err != nil {
		return nil, s.finish(err)
	}
	return r, nil
}

// Copy writes the content to w. It reconnects as Do does, but since what was
// written cannot be taken back, it fails with ErrChanged where Do would start
// from zero: w gets each octet once, all from the same object. Exists and
// Segments have no meaning here. A checksum that does not match is found out
// only after everything was written.
func (d *Downloader) Copy(ctx context.Context, req *fetch.Request, w io.Writer, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	sums, err := newSums(opts)
	if err != nil {
		return nil, &fetch.Error{Op: "save", URL: req.URL.Redacted(), Err: err}
	}
	t := newTransfer(d.Client, req, opts, sums)
	t.out.w = w
	t.begin = func(_ context.Context, resp *fetch.Response) error {
		if resp.Kind == fetch.KindSession {
			return &fetch.Error{Code: fetch.ErrInteractive}
		}
		return nil
	}
	err = t.run(ctx)
	if err == nil {
		err = sums.verify()
	}
	if err != nil {
		return nil, t.finish(err)
	}
	return t.result(), nil
}
