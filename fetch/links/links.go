// Package links finds what a response leads to, by its media type.
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

// Entries returns what resp leads to: the driver's own entries if it has some, as listings, menus
// and gemtext do, or else those of [Read]. It returns false if resp is of a media type without
// links, and then has read nothing.
//
// The entries consume resp.Body and may be ranged over once. The caller closes the body. An error
// of the body ends them.
func Entries(resp *fetch.Response) (iter.Seq2[fetch.Entry, error], bool) {
	if resp.Entries != nil {
		return resp.Entries, true
	}
	return Read(resp.Body, resp.ContentType, resp.URL)
}

// Read returns the links of a document of a media type that was found at base: a page of HTML, a
// style sheet, a sitemap, a feed or a text/uri-list. It returns false if the type has no links.
func Read(r io.Reader, contentType string, base uri.URI) (iter.Seq2[fetch.Entry, error], bool) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return nil, false
	}
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return HTML(r, base), true
	case "text/css":
		return CSS(r, base), true
	case "text/uri-list":
		return URIList(r, base), true
	case "application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		return XML(r, base), true
	}
	return nil, false
}

// maxURIListLine bounds a line of a text/uri-list, in bytes.
const maxURIListLine = 1 << 20

// URIList reads a text/uri-list (RFC 2483, section 5): one URI a line, and comments after "#".
// Relative references, which the RFC does not have, are resolved against base. A line that is no
// URI becomes an entry of kind fetch.EntryError.
func URIList(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxURIListLine)
		for in.Scan() {
			if in.Err() != nil {
				break // the line may be cut off
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

// entry makes an entry of a reference as it stands in a document.
func entry(base uri.URI, ref, rel string) fetch.Entry {
	u, err := uri.ParseRef(ref)
	if err == nil {
		if target := base.Resolve(u); target.IsAbs() {
			return fetch.Entry{URL: target, Rel: rel, Size: -1}
		}
		err = errors.New("relative, and the document has no URL")
	}
	return fetch.Entry{Name: fmt.Sprintf("%.200s: %v", ref, err), Kind: fetch.EntryError, Rel: rel, Size: -1}
}

func tooLong(what string, limit int, base uri.URI) error {
	return &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrTooLarge,
		Err: fmt.Errorf("%s of more than %d bytes", what, limit)}
}
