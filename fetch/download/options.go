package download

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// Exists says what to do if the file already exists.
type Exists uint8

// What to do if the file already exists.
const (
	// NewName saves as NAME.1, or NAME.2 and so on.
	NewName Exists = iota
	// Overwrite atomically replaces the file once the new one is complete.
	Overwrite
	// Skip leaves the file alone and retrieves nothing.
	Skip
	// Resume continues NAME.part, or NAME itself, as left by tools that write under the final name.
	// In the end, either NAME is the resource or there is an error. The package comment says what
	// proves that bytes belong to the resource.
	Resume
	// Newer retrieves the resource only if it is newer than the file or differs in size, and
	// replaces the file atomically. If the server does not tell its time, the file is left alone if
	// it turns out to be the same.
	Newer
)

// AutoSegments as Options.Segments begins with one stream and opens others as long as all of them
// together bring more than before.
const AutoSegments = -1

// Options says how to retrieve. Nil means the zero value. For bounds, 0 means the default and a
// negative value means no bound.
type Options struct {
	// Dir is the directory below Root to which name is relative, with elements separated by
	// slashes; "" means Root itself.
	Dir    string
	Exists Exists
	// Known is what the caller knows about the resource, for example from a listing, or nil.
	Known *Known
	// Same is the name of a file in the same directory. If what comes is what that file has, and the
	// server does not tell the time of the resource, an existing file that would be replaced is left
	// alone. Newer does so with the existing file itself if Same is "".
	Same string
	// Retry says how often and when temporary errors (fetch.Error.Retry) are retried. By default
	// there are 5 tries without progress; a pause is a random part of a second, which doubles up to
	// a minute; and a server may ask for a pause of up to a minute (fetch.Error.RetryAfter). Calls
	// of Retry.Report do not overlap.
	Retry retry.Policy
	// Segments is how many ranges of a large file to retrieve in parallel, if size, validator and
	// scheme allow it. 0 and 1 mean a single stream,
	// AutoSegments as many as make it faster.
	Segments int
	// Checksum is the checksum that the content must have: "sha256:" followed by hexadecimal
	// digits, or likewise sha512, sha384, sha224, sha1 or md5. It always covers the whole file,
	// regardless of how much of it was transferred. If it does not match, the error is of class
	// ErrChecksum and nothing is kept.
	Checksum string
	// SHA256 requests Result.SHA256. Like Checksum it precludes the fastest way to the disk, because
	// the bytes must be seen; larger content is digested by a goroutine of its own while the stream
	// goes on.
	SHA256 bool

	// Progress is called as bytes arrive. Done is the number of bytes so far, including those of an
	// earlier run, and total the number expected, or -1. It must be quick. Calls do not overlap.
	Progress func(done, total int64)
	// Response is called with each response before its Body is read, including responses that
	// continue a transfer. An error ends the download, or the attempt (see [Again]). Response may
	// replace Body by one derived from it if it adjusts Meta accordingly: the new content has no
	// ETag, and its Size is -1 if unknown. It must not do so with Resume, because a response may be
	// partial. Calls do not overlap.
	Response func(*fetch.Response) error
	// Listing, if not nil, is called with the directory, menu or index that the URL turns out to
	// be, unless a name was given. It reads the response and need not close it; nothing is saved.
	// If Listing is nil, listings are saved like documents, in their native form.
	Listing func(*fetch.Response) error
	// Reuse is called when bytes from an earlier run have been found to belong to the resource,
	// with the proof. Calls do not overlap.
	Reuse func(proof string)
	// Restart is called when existing bytes cannot be continued and the transfer starts over. Calls
	// do not overlap.
	Restart func(reason string)
}

// Known is what is known about a resource before any request. Its size and time are trusted for a
// single decision: whether the existing file makes a request unnecessary. With Newer, a file of
// this size that is not older than ModTime is left alone; with Resume, one of this size and time.
// Both must be known. What is saved is always what the server sends.
//
// Times in listings are often less precise than those of individual files: a change within the same
// minute, or day, that preserves the size goes unnoticed.
type Known struct {
	Size int64 // in bytes; -1 if unknown
	fetch.Validator
}

// A Result describes a successful download.
type Result struct {
	Outcome Outcome
	// Name is the path of the file below Root, with slashes; "" if there is none.
	Name string
	// Size is the size of the content, and Written how much of it was transferred in this run, in
	// bytes.
	Size, Written int64
	SHA256        string // in hexadecimal, if requested, or known from a checksum of that kind
	// URL is where the content came from, after redirects, and Meta is that of the last response.
	// Both are zero if no request was sent.
	URL  uri.URI
	Meta fetch.Meta
}

// An Outcome says how a download, a job or a page of a mirror ended. Its value is a token for
// programs.
type Outcome string

// The outcomes of downloads. Package job has more.
const (
	Saved     Outcome = "saved"      // the file is complete; for Copy, everything has been written
	Unchanged Outcome = "unchanged"  // the file is as recent as the resource, or the same
	Skipped   Outcome = "skipped"    // the file existed and was left alone, because of Skip
	Listed    Outcome = "listed"     // Options.Listing processed it
	NoContent Outcome = "no_content" // the server says that there is no content; no file is created
)
