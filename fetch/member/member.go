// Package member reads the members of remote archives: of zip files by ranges, and of tar files as
// they stream.
//
// The URL of a member is that of the archive, "!/" and the name of the member, as in
// https://host/x.zip!/a/b.txt. "!/" is legal in a URL, so the URL itself is requested first. Only if
// the server does not find it, it names a member. A URL that ends with "!/", or with a slash after
// it, names the members below that directory.
//
// An archive is recognized by its first bytes: zip, and tar, also compressed by gzip or zstd. A zip
// file takes a server with ranges, or at most 1 MiB, which is read completely.
package member

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Options configure the reading of archives. The zero value means the defaults.
type Options struct {
	// MaxSize limits the bytes that one request decompresses to find members of a compressed tar
	// file. 0 means no limit. The size of a member is limited by fetch.Policy.
	MaxSize int64
}

const separator = "!/"

// Split splits u into the URL of an archive and the name of a member, at the first "!/" of its path.
// The name is decoded. It is "" or ends with a slash if u names a directory.
func Split(u uri.URI) (archive uri.URI, name string, ok bool) {
	u = u.WithoutFragment()
	before, after, found := strings.Cut(u.URLPath(), separator)
	if !found || before == "" || strings.HasSuffix(before, "/") {
		return uri.URI{}, "", false
	}
	archive, err := uri.Parse(strings.TrimSuffix(u.String(), separator+after))
	if err != nil {
		return uri.URI{}, "", false
	}
	if name, err = uri.Unescape(after); err != nil {
		return uri.URI{}, "", false
	}
	return archive, name, true
}

// join returns the URL of a member, or the zero URI if it would be too long.
func join(archive uri.URI, name string) uri.URI {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = uri.Escape(s)
	}
	u, err := uri.Parse(archive.WithoutFragment().String() + separator + strings.Join(segments, "/"))
	if err != nil {
		return uri.URI{}
	}
	return u
}

// suffixes are the names under which a listing of a file is that of an archive.
var suffixes = []string{".zip", ".jar", ".war", ".ear", ".apk", ".aar", ".whl", ".egg", ".nupkg",
	".epub", ".wacz", ".cbz", ".xpi", ".kmz", ".odt", ".ods", ".odp", ".docx", ".xlsx", ".pptx",
	".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"}

func hasSuffix(u uri.URI) bool {
	name := strings.ToLower(u.LastSegment())
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// Fallback serves requests for members, and listings of archives. It implements fetch.Fallback.
func (o Options) Fallback(ctx context.Context, c *fetch.Client, req *fetch.Request,
	failed *fetch.Error) (*fetch.Response, error) {
	if ctx.Value(probe{}) != nil {
		return nil, nil
	}
	u, name, ok := Split(req.URL)
	switch {
	case ok && isAbsent(ctx, c, req, failed):
	case !ok && req.Op == fetch.OpList && isFile(failed) && hasSuffix(req.URL):
		u = req.URL.WithoutFragment()
	default:
		return nil, nil
	}
	a, err := open(context.WithValue(ctx, probe{}, true), c, req, u)
	switch {
	case a == nil && (!ok || err == nil || fetch.CodeOf(err) == fetch.ErrNotFound):
		return nil, nil // the first error says more
	case err != nil:
		return nil, err
	}
	a.maxSize = o.MaxSize
	resp, err := a.serve(req, name)
	if err != nil {
		a.Close()
		return nil, a.classify(err)
	}
	return resp, nil
}

// probe marks the context of the requests of a Fallback, which need no other one.
type probe struct{}

// isAbsent reports whether the server does not find the URL of req. A driver without listings did
// not ask the server.
func isAbsent(ctx context.Context, c *fetch.Client, req *fetch.Request, failed *fetch.Error) bool {
	if req.Op == fetch.OpList && errors.Is(failed, errors.ErrUnsupported) {
		_, err := c.Stat(context.WithValue(ctx, probe{}, true), onBehalfOf(req, req.URL))
		return fetch.CodeOf(err) == fetch.ErrNotFound
	}
	return failed.Code == fetch.ErrNotFound
}

// onBehalfOf returns a request for u under the policy of req, with its login.
func onBehalfOf(req *fetch.Request, u uri.URI) *fetch.Request {
	return &fetch.Request{URL: u, From: req.From, Anonymous: req.Anonymous, Header: req.Header}
}

// isFile reports whether the error of a listing may be that of a file.
func isFile(failed *fetch.Error) bool {
	switch failed.Code {
	case fetch.ErrNotRetrievable, fetch.ErrRefused, fetch.ErrNotFound:
		return true
	}
	return false
}

// head is the size of the first range. It contains the marks of all formats, and is a block of a
// fetch.Resource.
const head = 64 << 10

type archive struct {
	*fetch.Resource
	url     uri.URI // before redirects
	format  format
	maxSize int64
	// directory is the source of the files of a zip file.
	directory *budget
}

// open opens an archive. It returns nil and nil for a resource in any other format.
func open(ctx context.Context, c *fetch.Client, req *fetch.Request, u uri.URI) (*archive, error) {
	beginning := onBehalfOf(req, u)
	beginning.Range.Length = head
	r, err := c.Open(ctx, beginning)
	if err != nil {
		return nil, err
	}
	a := &archive{Resource: r, url: u}
	if r.Meta().Kind == fetch.KindObject {
		a.format, err = detect(r)
	}
	if a.format == "" {
		r.Close()
		return nil, err
	}
	return a, nil
}

func (a *archive) serve(req *fetch.Request, name string) (*fetch.Response, error) {
	if name != "" && !isSafe(name) {
		return nil, a.notFound(name)
	}
	if a.format == formatZip {
		return a.serveZip(req, name)
	}
	return a.serveTar(req, name)
}

func isDir(name string) bool { return name == "" || strings.HasSuffix(name, "/") }

func (a *archive) notFound(name string) error {
	if isDir(name) {
		return fetch.ErrNotFound.Errorf("%s has no members below %q", a.url.Redacted(), name)
	}
	return fetch.ErrNotFound.Errorf("%s has no member %q", a.url.Redacted(), name)
}

// respond returns the response for a member. The caller sets Body, unless req requests only metadata.
func respond(req *fetch.Request, e fetch.Entry) (*fetch.Response, error) {
	resp := &fetch.Response{URL: req.URL.WithoutFragment(), Body: fetch.NoBody}
	resp.Size, resp.ContentType, resp.Name = e.Size, e.ContentType, fetch.SafeName(path.Base(e.Name))
	resp.ModTime = e.ModTime
	switch req.Op {
	case fetch.OpGet, fetch.OpStat:
		return resp, nil
	case fetch.OpList:
		return nil, fetch.ErrNotRetrievable.Errorf("not a directory: %w", errors.ErrUnsupported)
	}
	return nil, fetch.ErrNotRetrievable.Errorf("members of archives have no sessions: %w",
		errors.ErrUnsupported)
}

// listType is the media type of a listing (RFC 2483, section 5).
const listType = "text/uri-list"

// respondListing returns the response for the directory at u. The caller sets Body and Parse, unless
// req requests only metadata.
func respondListing(u uri.URI) *fetch.Response {
	resp := &fetch.Response{URL: u, Body: fetch.NoBody}
	resp.Kind, resp.ContentType, resp.Size = fetch.KindListing, listType, -1
	return resp
}

// unmodified returns an error if req requests a member only if it has changed, and it has not.
func unmodified(req *fetch.Request, v fetch.Validator) error {
	known := req.IfChanged
	same := known.ETag == v.ETag
	if known.ETag == "" {
		same = !known.ModTime.IsZero() && known.ModTime.Equal(v.ModTime)
	}
	if !same || !req.Range.IsZero() {
		return nil
	}
	return fetch.ErrNotModified.Errorf("the member has not changed")
}

// unsupported returns the error for a member or an archive that cannot be read. It does not match
// errors.ErrUnsupported, after which callers would try another operation.
func unsupported(format string, args ...any) error {
	return fetch.ErrNotRetrievable.Errorf(format, args...)
}
