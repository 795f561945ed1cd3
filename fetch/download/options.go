package download

import (
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// Exists selects the action if the file already exists.
type Exists uint8

// Actions for an existing file.
const (
	// NewName saves as NAME.1, or NAME.2 and so on.
	NewName Exists = iota
	// Overwrite atomically replaces the file once the new one is complete.
	Overwrite
	// Skip keeps the file and sends no request.
	Skip
	// Resume resumes NAME.part, or NAME itself, as left by tools that write under the final name.
	// In the end, either NAME is the resource or an error is returned. The package comment describes
	// how the bytes are proven to belong to the resource.
	Resume
	// Newer retrieves the resource only if it is newer than the file or differs in size, and
	// replaces the file atomically. If the server does not report a modification time, a file with
	// the same content is kept.
	Newer
)

// AutoSegments as Options.Segments starts with one stream and opens more as long as the total rate
// grows.
const AutoSegments = -1

// Options configure a download. Nil means the zero value. For bounds, 0 means the default and a
// negative value means unlimited.
type Options struct {
	// Dir is the directory below Root to which name is relative, with elements separated by
	// slashes; "" means Root itself.
	Dir    string
	Exists Exists
	// ResumePart resumes NAME.part with Overwrite, Skip and Newer too, if an earlier run left it for
	// the same URL. It never appends to NAME itself. Several ranges and segments are not resumed.
	ResumePart bool
	// Known is what the caller knows about the resource, for example from a listing, or nil.
	Known *Known
	// Same is the name of a file in the same directory. If the server does not report a modification
	// time and the content equals that of Same, an existing file is not replaced. With Newer, ""
	// means the existing file itself.
	Same string
	// Retry controls retries of temporary errors (fetch.Error.Retry). The default is 5 tries without
	// progress. A pause is a random part of a second, which doubles up to a minute. A server may
	// request a pause of up to a minute (fetch.Error.RetryAfter). Calls of Retry.Report do not
	// overlap.
	Retry retry.Policy
	// Segments is the number of ranges of a large file to retrieve in parallel, if size, validator
	// and scheme allow it. 0 and 1 mean a single stream. See also AutoSegments.
	Segments int
	// Checksum is the required checksum of the content: "sha256:" followed by hexadecimal digits, or
	// likewise sha512, sha384, sha224, sha1 or md5. It always covers the whole file, also after a
	// resume. If it does not match, the error is of class ErrChecksum and the partial file is
	// removed.
	Checksum string
	// SHA256 requests Result.SHA256. Like Checksum it prevents the kernel from moving the bytes to
	// the file. Large buffers are digested concurrently with the transfer.
	SHA256 bool
	// Content requests Result.Content. Its memory is that of ContentBuffer, as far as that suffices.
	Content       bool
	ContentBuffer []byte
	// Absent states that the caller has just found no file of the name. One that has appeared since is
	// not looked for before the file is to get its name.
	Absent bool

	// Progress is called as bytes arrive. Done is the number of bytes so far, including those of an
	// earlier run; total is the expected number, or -1. It must be quick. Calls do not overlap.
	Progress func(done, total int64)
	// Response is called with each response before its Body is read, including responses that
	// resume a transfer. An error ends the download, or the attempt (see [Again]). Response may
	// replace Body if it adjusts Meta: the new content has no ETag, and its Size is -1 if unknown.
	// It must not do so with Resume, because a response may be partial. Calls do not overlap.
	Response func(*fetch.Response) error
	// Reuse is called when bytes from an earlier run have been found to belong to the resource,
	// with the proof. Calls do not overlap.
	Reuse func(proof string)
	// Restart is called when existing bytes cannot be resumed and the transfer starts over. Calls do
	// not overlap.
	Restart func(reason string)
	// Dropped is called with each URL of a Manifest that is not used again, and the error. Calls do not
	// overlap.
	Dropped func(u uri.URI, err error)

	owner string // URL for the record of a part; "" means that of the request
}

// Known is what the caller knows about a resource before any request. Its size and time are trusted
// for a single decision: whether the existing file makes a request unnecessary. With Newer, a file
// of this size that is not older than ModTime is kept; with Resume, one of this size and time. Both
// must be known.
//
// Times in listings are often less precise than those of individual files: a change within the same
// minute, or day, that keeps the size goes unnoticed.
type Known struct {
	Size int64 // in bytes; -1 if unknown
	fetch.Validator
}

// A Result describes a successful download.
type Result struct {
	Outcome Outcome
	// Name is the path of the file below Root, with slashes; "" if there is none. After an error it
	// is the path that the complete file would have had.
	Name string
	// Size is the size of the content, and Written the number of bytes transferred in this run.
	Size, Written int64
	SHA256        string // in hexadecimal, if requested, or if Options.Checksum is a SHA-256
	// ModTime is the modification time of the file; zero if it is unknown.
	ModTime time.Time
	// Content is the content of a file that was saved, if it was requested and was still in memory.
	// It is nil for files above 64 KiB, and for some others.
	Content []byte
	// Proof is a digest that the content was verified with: that of Options.Checksum, the strongest
	// one that a server stated, or that of a Metalink document. Its By is "checksum", the name of a
	// header field or command, or "metalink". If it covers the content before a content coding was
	// removed, ", encoded" follows. It is nil if there was none.
	Proof *fetch.Digest
	// URL is the URL of the content, after redirects, and Meta is that of the last response. Both
	// are zero if no request was sent.
	URL  uri.URI
	Meta fetch.Meta
}

// An Outcome is the result of a download, a job or a page of a mirror, as a token for programs.
type Outcome string

// The outcomes of downloads. Package job has more.
const (
	Saved     Outcome = "saved"      // the file is complete; for Copy, everything has been written
	Unchanged Outcome = "unchanged"  // the file is as recent as the resource, or the same
	Skipped   Outcome = "skipped"    // the file existed and was kept, because of Skip
	NoContent Outcome = "no_content" // the server reported that there is no content; no file is created
)
