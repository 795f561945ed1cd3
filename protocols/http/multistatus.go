package http

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pace"
)

// Limits of a multistatus. A token is a tag with its attributes, a text or a comment.
const (
	maxToken      = 64 << 10 // bytes
	maxAttributes = 100
	maxNesting    = 100
	maxProperty   = 16 << 10 // bytes of a name or a property
)

const davSpace = "DAV:"

// Sys is the record of an entry of a WebDAV listing.
type Sys struct {
	ETag string // as sent by the server
}

// EntryFacts implements fetch.EntryRecord.
func (s Sys) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "webdav", List: []fetch.Fact{{Name: "etag", Value: s.ETag, Optional: true}}}
}

// A davResource is a response element (RFC 4918, section 14.24), with the properties of status 200.
type davResource struct {
	href, status string // status is that of the resource, "" if it has properties
	davProperties
}

type davProperties struct {
	typed, collection bool // typed is set if the server sent the type
	size              string
	modified          string
	etag, contentType string
}

// A multistatus reads the elements of a response (RFC 4918, section 13) as they arrive.
type multistatus struct {
	src   *davSource
	xml   *xml.Decoder
	depth int
}

func newMultistatus(r io.Reader, idle time.Duration) *multistatus {
	src := &davSource{pieces: pace.NewReader(r, idle)}
	src.buf = bufio.NewReader(src.pieces)
	return &multistatus{src: src, xml: xml.NewDecoder(src)}
}

// A davSource limits the bytes of a token, which encoding/xml does not, and the time for a resource.
type davSource struct {
	pieces *pace.Reader
	buf    *bufio.Reader // of pieces
	left   int           // bytes of the token that may still be read
	err    error         // of pieces
}

var errLongToken = fmt.Errorf("a tag or text has more than %d bytes", maxToken)

func (s *davSource) ReadByte() (byte, error) {
	if s.left--; s.left < 0 {
		return 0, errLongToken
	}
	c, err := s.buf.ReadByte()
	if err != nil {
		s.err = err
	}
	return c, err
}

// Read makes davSource an io.Reader. The decoder only calls ReadByte.
func (s *davSource) Read(p []byte) (int, error) {
	c, err := s.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

func (m *multistatus) token() (xml.Token, error) {
	m.src.left = maxToken
	t, err := m.xml.Token()
	if err != nil {
		return nil, m.classify(err)
	}
	switch t := t.(type) {
	case xml.StartElement:
		if m.depth++; m.depth > maxNesting {
			return nil, malformedListing(fmt.Errorf("more than %d nested elements", maxNesting))
		}
		if len(t.Attr) > maxAttributes {
			return nil, malformedListing(fmt.Errorf("more than %d attributes", maxAttributes))
		}
	case xml.EndElement:
		m.depth--
	}
	return t, nil
}

// classify returns the error for one of encoding/xml, which may be that of the body. Encoding/xml returns
// io.EOF only at the end of the document, not within an element.
func (m *multistatus) classify(err error) error {
	switch {
	case m.src.err == nil:
		return malformedListing(err)
	case m.src.err != io.EOF:
		return m.src.err
	case err == io.EOF:
		return io.EOF
	}
	return &fetch.Error{Code: fetch.ErrTruncated, Err: errors.New("the listing ends within an element")}
}

func malformedListing(err error) error {
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the WebDAV listing is malformed: %w", err)}
}

// child returns the name of the next child element. It returns false at the end of the element around it,
// and io.EOF at the end of the document.
func (m *multistatus) child() (name string, ok bool, err error) {
	for {
		t, err := m.token()
		if err != nil {
			return "", false, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Space != davSpace {
				return "", true, nil
			}
			return t.Name.Local, true, nil
		case xml.EndElement:
			return "", false, nil
		}
	}
}

// each calls read for each child element, by its name in the namespace of WebDAV. It skips the children
// for which read is missing.
func (m *multistatus) each(read map[string]func() error) error {
	for {
		name, ok, err := m.child()
		if err != nil || !ok {
			return err
		}
		if f := read[name]; f != nil {
			err = f()
		} else {
			err = m.each(nil)
		}
		if err != nil {
			return err
		}
	}
}

// text returns a function that reads the text of an element into s.
func (m *multistatus) text(s *string) func() error {
	return func() error {
		var b strings.Builder
		for depth := m.depth; m.depth >= depth; {
			t, err := m.token()
			if err != nil {
				return err
			}
			if text, ok := t.(xml.CharData); ok && m.depth == depth {
				if b.Len()+len(text) > maxProperty {
					return malformedListing(fmt.Errorf("a property has more than %d bytes", maxProperty))
				}
				b.Write(text)
			}
		}
		*s = strings.TrimSpace(b.String())
		return nil
	}
}

// resources yields the resources of a multistatus. Its document must be complete.
func (m *multistatus) resources() iter.Seq2[*davResource, error] {
	return func(yield func(*davResource, error) bool) {
		name, ok, err := m.child()
		if err == io.EOF || err == nil && (!ok || name != "multistatus") {
			err = malformedListing(errors.New("it is not a multistatus"))
		}
		for err == nil {
			if name, ok, err = m.child(); err != nil || !ok {
				break
			}
			if name != "response" {
				err = m.each(nil)
				continue
			}
			m.src.pieces.Begin()
			var r *davResource
			if r, err = m.resource(); err == nil && !yield(r, nil) {
				return
			}
		}
		if err == nil {
			if _, ok, err = m.child(); err == nil && ok {
				err = malformedListing(errors.New("an element follows the multistatus"))
			}
		}
		if err != nil && err != io.EOF {
			yield(nil, err)
		}
	}
}

func (m *multistatus) resource() (*davResource, error) {
	r := &davResource{}
	err := m.each(map[string]func() error{
		"href":     m.text(&r.href),
		"status":   m.text(&r.status),
		"propstat": func() error { return m.propstat(&r.davProperties) },
	})
	return r, err
}

// propstat reads properties with their common status, which may precede or follow them.
func (m *multistatus) propstat(all *davProperties) error {
	var status string
	found := *all
	err := m.each(map[string]func() error{
		"status": m.text(&status),
		"prop": func() error {
			return m.each(map[string]func() error{
				"resourcetype":     func() error { return m.resourceType(&found) },
				"getcontentlength": m.text(&found.size),
				"getlastmodified":  m.text(&found.modified),
				"getetag":          m.text(&found.etag),
				"getcontenttype":   m.text(&found.contentType),
			})
		},
	})
	if err == nil && statusCode(status) == http.StatusOK {
		*all = found
	}
	return err
}

func (m *multistatus) resourceType(p *davProperties) error {
	p.typed, p.collection = true, false
	return m.each(map[string]func() error{"collection": func() error {
		p.collection = true
		return m.each(nil)
	}})
}

// statusCode returns the code in a status line, or 0.
func statusCode(line string) int {
	if f := strings.Fields(line); len(f) >= 2 {
		if code, err := strconv.Atoi(f[1]); err == nil {
			return code
		}
	}
	return 0
}

func (p *davProperties) length() int64 {
	if n, err := strconv.ParseInt(p.size, 10, 64); err == nil && n >= 0 && !p.collection {
		return n
	}
	return -1
}

func (p *davProperties) modTime() time.Time {
	t, err := http.ParseTime(p.modified)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (p *davProperties) mediaType() string {
	if _, _, err := mime.ParseMediaType(p.contentType); err != nil || p.collection {
		return ""
	}
	return p.contentType
}

// refusal returns the error for a resource whose status is not 200. Status 507 says that the server lists
// only some members of a collection (RFC 6578, section 3.6).
func (r *davResource) refusal() error {
	e := &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Text: r.status}}
	switch code := statusCode(r.status); {
	case r.status == "", code == http.StatusOK:
		return nil
	case code == http.StatusInsufficientStorage:
		e.Code, e.Err = fetch.ErrTruncated, errors.New("the server lists only a part of the directory")
	case code == http.StatusNotFound, code == http.StatusGone:
		e.Code = fetch.ErrNotFound
	}
	return e
}

// davEntries yields the members of a collection whose URL is dir. Resources that are not in dir are
// dropped. A multistatus without dir and without members is that of another collection. If the server
// refuses dir itself, its error follows the members.
func davEntries(r io.Reader, dir uri.URI, idle time.Duration) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		within := false
		var refused error
		for r, err := range newMultistatus(r, idle).resources() {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			e, isMember, isDir := r.entry(dir)
			within = within || isMember || isDir
			if isDir && r.typed && !r.collection {
				yield(fetch.Entry{}, notCollection())
				return
			}
			if isDir && refused == nil {
				refused = r.refusal()
			}
			if isMember && !yield(e, nil) {
				return
			}
		}
		if !within {
			refused = malformedListing(errors.New("it does not contain the directory"))
		}
		if refused != nil {
			yield(fetch.Entry{}, refused)
		}
	}
}

// entry returns the entry of a member of dir. isDir is set for dir itself.
func (r *davResource) entry(dir uri.URI) (e fetch.Entry, isMember, isDir bool) {
	e = fetch.Entry{Rel: "item", Size: -1}
	ref, err := uri.ParseRef(r.href)
	if err != nil || r.href == "" {
		e.Kind, e.Name = fetch.EntryError, fmt.Sprintf("%.200s: not a URL", r.href)
		return e, true, false
	}
	to := dir.Resolve(ref)
	_, hasQuery := to.Query()
	name, depth := below(dir.Path(), to.Path())
	if to.Host() != dir.Host() || hasQuery || depth < 0 || depth > 1 {
		return e, false, false
	}
	if depth == 0 {
		return e, false, true
	}
	switch code := statusCode(r.status); {
	case code == http.StatusNotFound, code == http.StatusGone:
		return e, false, false
	case r.status != "" && code != http.StatusOK:
		e.Kind, e.Name = fetch.EntryError, uri.UnescapeRaw(name)+": "+r.status
		return e, true, false
	}
	end := ""
	if r.collection || !r.typed && strings.HasSuffix(to.Path(), "/") {
		e.Kind, end = fetch.EntryListing, "/"
	}
	ref, err = uri.Parse("./" + name + end)
	if err != nil {
		return e, false, false
	}
	e.URL, e.Name = asDirectory(dir).Resolve(ref), uri.UnescapeRaw(name)
	e.Size, e.ModTime, e.ContentType = r.length(), r.modTime(), r.mediaType()
	e.Sys = Sys{ETag: r.etag}
	return e, true, false
}

// below returns the number of names in a path after those of the directory dir, and the last name in its
// encoded form. It returns -1 if the path is not below dir. Names are equal if their decoded forms are.
func below(dir, path string) (last string, depth int) {
	above, all := names(dir), names(path)
	depth = len(all) - len(above)
	if depth < 0 {
		return "", -1
	}
	for i, name := range above {
		if uri.UnescapeRaw(name) != uri.UnescapeRaw(all[i]) {
			return "", -1
		}
	}
	if depth > 0 {
		last = all[len(all)-1]
		if name := uri.UnescapeRaw(last); name == "." || name == ".." {
			return "", -1
		}
	}
	return last, depth
}

func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" })
}
