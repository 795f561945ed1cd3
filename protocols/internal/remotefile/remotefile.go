// Package remotefile has the common rules of drivers for file servers: the path in a URL, the range
// of a file, the entries of a directory, and a body that sends reads ahead of its reader.
package remotefile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// listType is the media type of a directory: one URL per line (RFC 2483, section 5).
const listType = "text/uri-list"

// A Path is the path of a URL, still encoded.
type Path struct {
	Base string // the URL up to the path, including the slash after the host
	Text string // the rest, encoded, without a trailing slash
	Dir  bool   // the URL ends with a slash
}

// PathOf returns the path of u, which has no fragment, and the same path as written.
func PathOf(u uri.URI) (p Path, raw string) {
	raw = u.URLPath()
	p.Base = strings.TrimSuffix(u.String(), raw)
	if !strings.HasSuffix(p.Base, "/") {
		p.Base += "/"
	}
	p.Dir = raw == "" || strings.HasSuffix(raw, "/")
	p.Text = strings.TrimRight(raw, "/")
	return p, raw
}

// Directory returns the URL of p, a directory, with a trailing slash.
func (p *Path) Directory() string {
	if p.Text == "" {
		return p.Base
	}
	return p.Base + strings.ReplaceAll(p.Text, "?", "%3F") + "/"
}

// Member returns the URL of a member of the directory dir, or the zero URI if it would be too long.
func Member(dir, name string, isDir bool) uri.URI {
	text := uri.Escape(name)
	if isDir {
		text += "/"
	}
	u, _ := uri.Parse(dir + text)
	return u
}

// Listing returns the response for the directory dir. If read is true, the caller sets Body and
// Parse; otherwise req requests only metadata.
func Listing(req *fetch.Request, dir uri.URI, name string,
	modTime time.Time) (resp *fetch.Response, read bool) {
	resp = &fetch.Response{URL: dir, Body: fetch.NoBody}
	resp.Kind, resp.ContentType, resp.Size,
		resp.Name = fetch.KindListing, listType, -1, fetch.SafeName(name)
	resp.ModTime = modTime
	return resp, req.Op != fetch.OpStat
}

// Directories returns the listing of directories that the server names by itself, such as the shares of
// a host. It omits those without a URL.
func Directories(req *fetch.Request, base, name string, entries []fetch.Entry) *fetch.Response {
	resp, read := Listing(req, Member(base, "", false), name, time.Time{})
	if read {
		driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
			for _, e := range entries {
				if !e.URL.IsZero() && !yield(driver.URIListPart("", e), nil) {
					return
				}
			}
		}, nil)
	}
	return resp
}

// Directory returns the entry for a directory in a listing.
func Directory(u uri.URI, name string, modTime time.Time, sys fetch.EntryRecord) fetch.Entry {
	return fetch.Entry{URL: u, Name: name, Kind: fetch.EntryListing, Rel: "item",
		ContentType: listType, Size: -1, ModTime: modTime, Sys: sys}
}

// File returns the entry for any other member. Size is -1 if unknown.
func File(u uri.URI, name string, size int64, modTime time.Time, sys fetch.EntryRecord) fetch.Entry {
	return fetch.Entry{URL: u, Name: name, Rel: "item", ContentType: fetch.TypeByName(name),
		Size: size, ModTime: modTime, Sys: sys}
}

// Describe returns the metadata of a file. Size is -1 if unknown.
func Describe(name string, size int64, modTime time.Time) fetch.Meta {
	meta := fetch.Meta{Size: size, Name: fetch.SafeName(name), ContentType: fetch.TypeByName(name)}
	meta.ModTime = modTime
	return meta
}

// Same reports whether a file matches the validator known to the caller.
func Same(known, now fetch.Validator) bool {
	if known.ETag != "" {
		return known.ETag == now.ETag
	}
	return !now.ModTime.IsZero() && now.ModTime.Equal(known.ModTime)
}

// NotModified returns an error if req requests a file only if it has changed, and same is true.
func NotModified(req *fetch.Request, same bool) error {
	if !same || !req.Range.IsZero() || req.IfChanged.IsZero() {
		return nil
	}
	return fetch.ErrNotModified.Errorf("the file has not changed")
}

// Select applies the conditions of req and, unless it is OpStat, its range to meta, which describes a
// complete file.
func Select(req *fetch.Request, meta *fetch.Meta) error {
	same := Same(req.IfChanged, meta.Validator)
	if err := NotModified(req, same); err != nil || req.Op == fetch.OpStat {
		return err
	}
	return SelectPart(req, meta, same)
}

// SelectPart restricts meta, which describes a complete file, to the range of req. The file is
// retrieved completely if req has no range or the file has changed. If the size is unknown, the
// range is used unchecked.
func SelectPart(req *fetch.Request, meta *fetch.Meta, same bool) error {
	part := req.Range
	switch {
	case part.IsZero(), part.Offset < 0, part.Length < 0, !same && !req.IfChanged.IsZero(),
		meta.Size == 0 && part.Offset == 0:
	case part.Offset > meta.Size && meta.Size >= 0:
		return OutOfRange(meta.Size)
	case meta.Size < 0:
		meta.Range = part
	default:
		meta.Range, meta.Total = part, meta.Size
		meta.Size -= part.Offset
		if part.Length > 0 {
			meta.Size = min(meta.Size, part.Length)
		}
	}
	return nil
}

// OutOfRange returns the error for a range that begins after the end of a file.
func OutOfRange(size int64) error {
	return fetch.ErrRange.Errorf("the file has %d bytes", size)
}

// CheckFile returns an error for a file if the operation or the trailing slash of the URL requires
// a directory.
func CheckFile(req *fetch.Request, slash bool) error {
	switch {
	case slash:
		return fetch.ErrNotFound.Errorf("not a directory, although the URL ends with a slash")
	case req.Op == fetch.OpList:
		return fetch.ErrNotRetrievable.Errorf("not a directory: %w", errors.ErrUnsupported)
	}
	return nil
}

// NotFile returns the error for an object that can be neither read nor listed, such as a device.
func NotFile(mode fs.FileMode) error {
	return fetch.ErrRefused.Errorf("neither a file nor a directory: %v", mode)
}

// ErrLost is matched by errors of a lost connection, as opposed to error responses of the server.
var ErrLost = errors.New("connection lost")

// ListingError returns the error for a listing that ended early because of err. Only a lost
// connection truncates the listing; other errors are returned unchanged.
func ListingError(err error) error {
	if !errors.Is(err, ErrLost) {
		return err
	}
	return TruncatedListing(err)
}

// IsCut reports whether an error of a connection, which has no code, means that it was lost in the middle
// of content.
func IsCut(err error) bool {
	return fetch.CodeOf(err) == "" && !errors.Is(err, net.ErrClosed) &&
		!errors.As(err, new(*wire.TimeoutError))
}

// CutListing is like ListingError, for connections whose errors match IsCut.
func CutListing(err error) error {
	if !IsCut(err) {
		return err
	}
	return TruncatedListing(err)
}

// TruncatedListing returns the error for a listing that was interrupted by a lost connection.
func TruncatedListing(err error) error { return truncated("the listing was interrupted", err) }

// truncated returns the error for content that ended early because of err.
func truncated(prefix string, err error) error {
	var e *fetch.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return fetch.ErrTruncated.Retryf("%s: %w", prefix, err)
}

// A Cycle finds out that a server repeats the pages of a listing. It compares the mark of each page with
// an earlier one, which it replaces after 1, 2, 4, … pages (Brent's algorithm). It finds a cycle of any
// length.
type Cycle[T comparable] struct {
	pages int
	mark  T
}

// Closes reports whether the mark of the next page is the earlier one.
func (c *Cycle[T]) Closes(mark T) bool {
	if c.pages > 0 && mark == c.mark {
		return true
	}
	if c.pages++; c.pages&(c.pages-1) == 0 {
		c.mark = mark
	}
	return false
}

func progress(n, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d of %d bytes", n, total)
}
