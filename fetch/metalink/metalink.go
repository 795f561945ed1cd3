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
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// MediaType is the content type of Metalink documents (RFC 5854, section 8.2).
const MediaType = "application/metalink4+xml"

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

// A File is a file with its sources.
type File struct {
	// Name is the suggested path of the file: relative, with slashes, without "." and "..". It is ""
	// if the file is from header fields.
	Name string
	Size int64 // in bytes; -1 if unknown
	// Checksum is the strongest known hash of the whole file, such as "sha256:" followed by
	// hexadecimal digits, or "".
	Checksum string
	Pieces   *Pieces  // nil if no known hashes of pieces exist
	Sources  []Source // of any scheme, preferred ones first
	// Descriptions are documents with more information, from header fields (see Describe).
	Descriptions []Description
}

// Pieces are the hashes of the pieces of a file.
type Pieces struct {
	Length int64    // of each piece except the last one, in bytes
	Sums   [][]byte // in the order of the pieces
	New    func() hash.Hash
}

// A Source is a URL of a file.
type Source struct {
	URL      uri.URI
	Priority int    // from 1 to 999999; lower is better
	Location string // a country, in two letters of ISO 3166-1; "" if unknown
}

// lowest is the default priority (RFC 5854, section 4.2.16.1).
const lowest = 999_999

// hashes lists the known hash functions by their names in the IANA registry, strongest first. MD5
// detects only accidental changes.
var hashes = []struct {
	name, short string
	new         func() hash.Hash
}{
	{"sha-512", "sha512", sha512.New}, {"sha-384", "sha384", sha512.New384}, {"sha-256", "sha256", sha256.New},
	{"sha-224", "sha224", sha256.New224}, {"sha-1", "sha1", sha1.New}, {"md5", "md5", md5.New},
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
func Parse(r io.Reader) ([]File, error) {
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

// skip reads the open element to its end.
func (p *parser) skip() error {
	return p.children(func(*xml.StartElement) error { return p.skip() })
}

// text reads the open element to its end and returns its text.
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

func (p *parser) document() ([]File, error) {
	root, err := p.next()
	if err != nil {
		return nil, err
	}
	if root == nil || root.Name.Space != namespace || root.Name.Local != "metalink" {
		return nil, errNot
	}
	var files []File
	names := map[string]bool{}
	err = p.children(func(e *xml.StartElement) error {
		if e.Name.Local != "file" {
			return p.skip()
		}
		f, err := p.file(attribute(e, "name"))
		if err != nil {
			return err
		}
		if names[f.Name] {
			return fmt.Errorf("two files are named %q", f.Name)
		}
		if names[f.Name] = true; len(files) == maxFiles {
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
	if name == "" || name != path.Clean(name) || path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\\x00\r\n") {
		return fmt.Errorf("%q is not a valid file name", name)
	}
	return nil
}

func (p *parser) file(name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f := &File{Name: name, Size: -1}
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
				best, f.Checksum = n, hashes[n].short+":"+strings.ToLower(text)
				_, err = sum(text, n)
			}
			return err
		case "pieces":
			if n >= 0 && n < bestPieces {
				bestPieces = n
				var err error
				f.Pieces, err = p.pieces(attribute(e, "length"), n)
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

func (f *File) setSize(text string) (err error) {
	if f.Size, err = strconv.ParseInt(text, 10, 64); err != nil || f.Size < 0 {
		return fmt.Errorf("%q is not a size", text)
	}
	return nil
}

// addSource adds a source, unless its URL is malformed.
func (f *File) addSource(text string, e *xml.StartElement) error {
	u, err := uri.Parse(text)
	if err != nil {
		return nil
	}
	if len(f.Sources) == maxSources {
		return errTooLarge
	}
	f.Sources = append(f.Sources, Source{u, priority(attribute(e, "priority")), strings.ToLower(attribute(e, "location"))})
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

func (p *parser) pieces(length string, n int) (*Pieces, error) {
	all := &Pieces{New: hashes[n].new}
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
func (f *File) complete() error {
	slices.SortStableFunc(f.Sources, func(a, b Source) int { return a.Priority - b.Priority })
	if p := f.Pieces; p != nil {
		switch count := int64(len(p.Sums)); {
		case f.Size < 0:
			f.Pieces = nil
		case f.Size/p.Length+min(f.Size%p.Length, 1) != count:
			return fmt.Errorf("%s: %d bytes in pieces of %d are not %d pieces", f.Name, f.Size, p.Length, count)
		}
	}
	return nil
}
