// Package links extracts the links of a response, by its content type.
package links

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Entries returns the links of resp: the driver's own entries if it has any, as listings, menus and
// gemtext do, otherwise those of [Read] for the content type that [Sniff] finds. If the type has no links,
// it returns false, and the links of the header are those of [Fields]. Rel is the relation of the link to
// resp, or "".
//
// The entries consume resp.Body and may be ranged over once. The caller closes the body. An error
// of the body ends them.
func Entries(resp *fetch.Response, rel string) (iter.Seq2[fetch.Entry, error], bool) {
	return EntriesAndAnchors(resp, rel, nil)
}

// EntriesAndAnchors is Entries, and sets a, if that is not nil, while the entries are ranged over.
func EntriesAndAnchors(resp *fetch.Response, rel string, a *Anchors) (iter.Seq2[fetch.Entry, error], bool) {
	if resp.Entries != nil {
		return resp.Entries, true
	}
	contentType, body := Sniff(resp.Body, resp.ContentType, rel)
	return read(body, contentType, resp.URL, a, false)
}

// Read returns the links of a document whose URL is base: an HTML page, an SVG file, a style sheet,
// a sitemap or feed as [XML] does, a web app manifest, the imports of a script, or a text/uri-list. If the
// content type has no links, it returns false and reads nothing.
//
// An HTML page is read as a stream. A base element changes the base of the links after it. HTML requires
// it to come before them (section 4.2.3). In browsers, a later one changes hyperlinks, but not what they
// have already loaded, such as style sheets and images (section 2.4.3). The encoding is that of a byte
// order mark, the content type, an XML declaration or a meta element, otherwise UTF-8 or windows-1252. As
// in browsers, paths are converted to UTF-8, and queries keep the encoding of the page.
//
// Rel is "a" for anchors and areas, "refresh" for a meta element, and "css" for references in
// styles. It is "cite" for sources of quotations and "longdesc" for descriptions. For link elements it
// is the first word of rel that is a [Requisite], such as "stylesheet" or "icon", or the first word;
// links to origins ("preconnect") are omitted. Otherwise it is the name of the element, such as "img",
// "script" or "iframe". The links of a frame with srcdoc are those of the page. If a meta element
// robots asks robots not to follow links, Rel is "nofollow" for the anchors and areas after it. Name
// is the text of an anchor or the alt text of an image. A reference that is not a valid URL becomes an
// entry of kind fetch.EntryError.
//
// Servers generate index pages for directories, titled "Index of". For the files in them, ModTime
// is the time on the page, read as UTC. Size is the size on the page, or -1 if it is rounded. Links
// to the same directory in another order are omitted.
func Read(r io.Reader, contentType string, base uri.URI) (iter.Seq2[fetch.Entry, error], bool) {
	return read(r, contentType, base, nil, false)
}

func read(
	r io.Reader, contentType string, base uri.URI, a *Anchors, dirs bool,
) (iter.Seq2[fetch.Entry, error], bool) {
	switch kindOf(contentType) {
	case htmlPage:
		return readHTML(r, contentType, base, a, dirs), true
	case svgImage:
		return readHTML(r, contentType, base, nil, false), true
	case cssStyles:
		return styleSheet(r, contentType, base), true
	case webManifest:
		return readManifest(r, base), true
	case javaScript:
		return readScript(r, base), true
	case listOfURIs:
		return uriList(r, base), true
	case xmlDocument:
		return XML(r, base), true
	}
	return nil, false
}

// Readable reports whether Read reads documents of a content type.
func Readable(contentType string) bool { return kindOf(contentType) != noLinks }

// A kind is a kind of documents with links.
type kind byte

const (
	noLinks kind = iota
	htmlPage
	svgImage
	cssStyles
	webManifest
	javaScript
	listOfURIs
	xmlDocument
)

func kindOf(contentType string) kind {
	mediaType, _, err := parseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return noLinks
	}
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return htmlPage
	case "image/svg+xml":
		return svgImage
	case "text/css":
		return cssStyles
	case manifestType:
		return webManifest
	case "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
		"application/ecmascript":
		return javaScript
	case "text/uri-list":
		return listOfURIs
	case "application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		return xmlDocument
	}
	return noLinks
}

// maxURIListLine bounds a line of a text/uri-list, in bytes.
const maxURIListLine = 1 << 20

// uriList reads a text/uri-list (RFC 2483, section 5): one URI per line, and comments after "#".
// Relative references, which the RFC does not allow, are resolved against base. A line that is not a
// URI becomes an entry of kind fetch.EntryError.
func uriList(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxURIListLine)
		for in.Scan() {
			if in.Err() != nil {
				break // the line may be truncated
			}
			line := strings.TrimSpace(in.Text())
			if line == "" || line[0] == '#' {
				continue
			}
			if !yield(entry(base, line, "item"), nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = tooLong("a line", maxURIListLine, base)
			}
			yield(fetch.Entry{}, err)
		}
	}
}

func entry(base uri.URI, ref, rel string) fetch.Entry {
	u, err := parseRef(ref)
	return resolved(base, u, err, ref, rel)
}

// resolved returns the entry of a reference that was parsed as u.
func resolved(base, u uri.URI, err error, ref, rel string) fetch.Entry {
	if err == nil {
		if target := base.Resolve(u); target.IsAbs() {
			return fetch.Entry{URL: target, Rel: rel, Size: -1}
		}
		err = errors.New("relative, and the document has no URL")
	}
	return fetch.Entry{Name: fmt.Sprintf("%.200s: %v", ref, err), Kind: fetch.EntryError, Rel: rel, Size: -1}
}

// parseRef parses a reference as browsers do: a colon after a character that no scheme has is part of a
// relative path, as in "site;sub:page.html" (URL Standard, section 4.4, "scheme state").
func parseRef(ref string) (uri.URI, error) {
	ref = withSlashes(ref)
	u, err := uri.ParseRef(ref)
	if err == nil {
		return u, nil
	}
	ref = strings.TrimSpace(ref)
	i := strings.IndexAny(ref, ":/?#")
	if i <= 0 || ref[i] != ':' || isScheme(ref[:i]) {
		return u, err
	}
	return uri.ParseRef("./" + ref)
}

// withSlashes replaces the backslashes of a path and an authority, which browsers read as slashes (URL
// Standard, section 4.4). References such as "mailto:a" have neither.
func withSlashes(ref string) string {
	if strings.IndexByte(ref, '\\') < 0 {
		return ref
	}
	ref = strings.TrimLeft(ref, blanks)
	scheme, rest, ok := strings.Cut(ref, ":")
	if ok && isScheme(scheme) && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) {
		return ref
	}
	end := len(ref)
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		end = i
	}
	return strings.ReplaceAll(ref[:end], `\`, "/") + ref[end:]
}

// isScheme reports whether s has the form of a scheme (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '+' && c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func tooLong(format string, limit int, base uri.URI) error {
	return &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrTooLarge,
		Err: fmt.Errorf("%s of more than %d bytes", format, limit)}
}
