// Package metalink reads the mirrors and hashes of files, from Metalink documents (RFC 5854) and from
// HTTP header fields (RFC 6249).
package metalink

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// mediaType is the content type of documents (RFC 5854, section 8.2).
const mediaType = "application/metalink4+xml"

const namespace = "urn:ietf:params:xml:ns:metalink"

// Limits of a document. Exceeding them is an error.
const (
	maxSize         = 64 << 20 // bytes
	maxFiles        = 10_000
	maxSources      = 1000 // of a file
	maxDescriptions = 4
	maxPieces       = 1 << 20
	maxText         = 64 << 10 // bytes of an element's text
	maxDepth        = 32
)

// A file is a manifest in the making. Its sources are sorted by complete.
type file struct {
	name     string // in the document; "" if the file is from header fields
	size     int64  // in bytes; -1 if unknown
	checksum string // the strongest known one
	pieces   *download.Pieces
	sources  []source

	descriptions []description // named by header fields
}

// A source is a URL with a priority from 1 to lowest. Lower is better.
type source struct {
	url      uri.URI
	priority int
}

func (f *file) manifest() download.Manifest {
	m := download.Manifest{Name: safePath(f.name), Size: f.size, Checksum: f.checksum, Pieces: f.pieces}
	for _, s := range f.sources {
		m.URLs = append(m.URLs, s.url)
	}
	return m
}

// safePath makes each element of a path with slashes safe, as a server must not choose a name that
// begins with a dot or is that of a partial file.
func safePath(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = download.Name(uri.URI{}, &fetch.Meta{Name: e})
	}
	return strings.Join(elements, "/")
}

// lowest is the default priority (RFC 5854, section 4.2.16.1).
const lowest = 999_999

// hashes lists the known hash functions by their names in the IANA registry, strongest first. MD5
// detects only accidental changes.
var hashes = []struct {
	name, short string
	new         func() hash.Hash
}{
	{"sha-512", "sha512", sha512.New}, {"sha-384", "sha384", sha512.New384},
	{"sha-256", "sha256", sha256.New}, {"sha-224", "sha224", sha256.New224},
	{"sha-1", "sha1", sha1.New}, {"md5", "md5", md5.New},
}

func rank(name string) int {
	for i, h := range hashes {
		if strings.EqualFold(name, h.name) {
			return i
		}
	}
	return -1
}

// Parse reads a Metalink document. It skips malformed URLs and unknown elements. A document with an
// invalid name, size or hash is an error, and so is one that exceeds the limits.
//
// The names are safe for files, and URLs are of any scheme. From is zero: if a server sent the
// document, the caller sets it.
func Parse(r io.Reader) ([]download.Manifest, error) {
	files, err := parse(r)
	if err != nil {
		return nil, err
	}
	return manifests(files, uri.URI{}), nil
}

func manifests(files []file, from uri.URI) []download.Manifest {
	var all []download.Manifest
	for _, f := range files {
		m := f.manifest()
		m.From = from
		all = append(all, m)
	}
	return all
}

func parse(r io.Reader) ([]file, error) {
	limited := &io.LimitedReader{R: r, N: maxSize}
	p := parser{decoder: xml.NewDecoder(limited)}
	p.decoder.CharsetReader = nil // only UTF-8
	files, err := p.document()
	if err != nil {
		if limited.N <= 0 {
			err = errTooLarge
		}
		return nil, fmt.Errorf("metalink: %w", err)
	}
	return files, nil
}

var (
	errTooLarge = errors.New("the document is too large")
	errNone     = errors.New("it does not describe a file")
	errNot      = errors.New("it is not a Metalink document of version 4")
)

type parser struct {
	decoder *xml.Decoder
	depth   int
}

// next returns the next child of the open element, or nil at its end.
func (p *parser) next() (*xml.StartElement, error) {
	for {
		token, err := p.decoder.Token()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if p.depth++; p.depth > maxDepth {
				return nil, errors.New("its elements are nested too deeply")
			}
			return &t, nil
		case xml.EndElement:
			p.depth--
			return nil, nil
		}
	}
}

// children calls do with each child of the open element. Do must read the child to its end. Elements
// of other namespaces get an empty name.
func (p *parser) children(do func(*xml.StartElement) error) error {
	for {
		e, err := p.next()
		if e == nil || err != nil {
			return err
		}
		if e.Name.Space != namespace {
			e.Name.Local = ""
		}
		if err := do(e); err != nil {
			return err
		}
	}
}

func (p *parser) skip() error {
	return p.children(func(*xml.StartElement) error { return p.skip() })
}

func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			if b.Len()+len(t) > maxText {
				return "", errTooLarge
			}
			b.Write(t)
		case xml.StartElement:
			if p.depth++; p.depth > maxDepth {
				return "", errTooLarge
			}
			if err := p.skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			p.depth--
			return strings.TrimSpace(b.String()), nil
		}
	}
}

func attribute(e *xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (p *parser) document() ([]file, error) {
	root, err := p.next()
	if err != nil {
		return nil, err
	}
	if root == nil || root.Name.Space != namespace || root.Name.Local != "metalink" {
		return nil, errNot
	}
	var files []file
	names := map[string]bool{}
	err = p.children(func(e *xml.StartElement) error {
		if e.Name.Local != "file" {
			return p.skip()
		}
		f, err := p.file(attribute(e, "name"))
		if err != nil {
			return err
		}
		saved := strings.ToLower(safePath(f.name)) // some file systems ignore case
		if names[saved] {
			return fmt.Errorf("two files are named %q", f.name)
		}
		if names[saved] = true; len(files) == maxFiles {
			return errTooLarge
		}
		files = append(files, *f)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errNone
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

// checkName returns an error for names that RFC 5854, section 4.1.2.1, forbids. It is stricter: a
// name must be clean and must not contain backslashes or control characters.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00\r\n") {
		return fmt.Errorf("%q is not a valid file name", name)
	}
	return nil
}

func (p *parser) file(name string) (*file, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f := &file{name: name, size: -1}
	best, bestPieces := len(hashes), len(hashes)
	err := p.children(func(e *xml.StartElement) error {
		n := rank(attribute(e, "type"))
		switch name := e.Name.Local; name {
		case "size", "hash", "url":
			text, err := p.text()
			if err != nil {
				return err
			}
			switch name {
			case "size":
				return f.setSize(text)
			case "url":
				return f.addSource(text, e)
			}
			if n >= 0 && n < best {
				best, f.checksum = n, hashes[n].short+":"+strings.ToLower(text)
				_, err = sum(text, n)
			}
			return err
		case "pieces":
			if n >= 0 && n < bestPieces {
				bestPieces = n
				var err error
				f.pieces, err = p.pieces(attribute(e, "length"), n)
				return err
			}
		}
		return p.skip()
	})
	if err == nil {
		err = f.complete()
	}
	return f, err
}

func (f *file) setSize(text string) (err error) {
	if f.size, err = strconv.ParseInt(text, 10, 64); err != nil || f.size < 0 {
		return fmt.Errorf("%q is not a size", text)
	}
	return nil
}

func (f *file) addSource(text string, e *xml.StartElement) error {
	u, err := uri.Parse(text)
	if err != nil {
		return nil
	}
	if len(f.sources) == maxSources {
		return errTooLarge
	}
	f.sources = append(f.sources, source{u, priority(attribute(e, "priority"))})
	return nil
}

func priority(text string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n < lowest {
		return n
	}
	return lowest
}

func sum(text string, n int) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != hashes[n].new().Size() {
		return nil, fmt.Errorf("%.100q is not a hash of type %s", text, hashes[n].name)
	}
	return b, nil
}

func (p *parser) pieces(length string, n int) (*download.Pieces, error) {
	all := &download.Pieces{New: hashes[n].new}
	var err error
	if all.Length, err = strconv.ParseInt(length, 10, 64); err != nil || all.Length <= 0 {
		return nil, fmt.Errorf("%q is not a piece length", length)
	}
	err = p.children(func(e *xml.StartElement) error {
		text, err := p.text()
		if err != nil || e.Name.Local != "hash" {
			return err
		}
		b, err := sum(text, n)
		if err != nil {
			return err
		}
		if len(all.Sums) == maxPieces {
			return errTooLarge
		}
		all.Sums = append(all.Sums, b)
		return nil
	})
	return all, err
}

// complete sorts the sources, and drops the pieces if the size of the file is unknown.
func (f *file) complete() error {
	slices.SortStableFunc(f.sources, func(a, b source) int { return a.priority - b.priority })
	if p := f.pieces; p != nil {
		switch count := int64(len(p.Sums)); {
		case f.size < 0:
			f.pieces = nil
		case f.size/p.Length+min(f.size%p.Length, 1) != count:
			return fmt.Errorf("%s: %d bytes in pieces of %d are not %d pieces",
				f.name, f.size, p.Length, count)
		}
	}
	return nil
}
