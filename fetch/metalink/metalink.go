// Package metalink reads what says where else a file is and what is in it: Metalink documents (RFC
// 5854), and the header fields with which HTTP servers say the same (RFC 6249).
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

// MediaType is the media type of Metalink documents (RFC 5854, section 8.2).
const MediaType = "application/metalink4+xml"

const namespace = "urn:ietf:params:xml:ns:metalink"

// What is read at most of a document. More is an error.
const (
	maxSize         = 64 << 20 // bytes
	maxFiles        = 10_000
	maxSources      = 1000 // of a file
	maxDescriptions = 4
	maxPieces       = 1 << 20
	maxText         = 64 << 10 // bytes of an element's text
	maxDepth        = 32
)

// A File is one file and where it can be had.
type File struct {
	// Name is the path that the file should get: relative, with slashes, without "." and ".."; ""
	// from header fields.
	Name string
	Size int64 // in bytes; -1 if unknown
	// Checksum is the best one that is given of the whole file, such as "sha256:" followed by
	// hexadecimal digits; "" if there is none of a known kind.
	Checksum string
	Pieces   *Pieces  // nil if no hashes of pieces of a known kind are given
	Sources  []Source // of schemes of any kind, those that are preferred first
	// Descriptions are documents that tell more of the file, from header fields (see Describe).
	Descriptions []Description
}

// Pieces are the hashes of the pieces of a file.
type Pieces struct {
	Length int64    // of each piece but the last one, in bytes
	Sums   [][]byte // in the order of the pieces
	New    func() hash.Hash
}

// A Source is a URL of a file.
type Source struct {
	URL      uri.URI
	Priority int    // from 1 to 999999; lower is better
	Location string // a country, in two letters of ISO 3166-1; "" if unknown
}

// lowest is the priority of what has none (RFC 5854, section 4.2.16.1).
const lowest = 999_999

// hashes are the known hash functions by their names in IANA's registry, the better ones first. MD5
// finds mistakes, not lies.
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

// Parse reads a Metalink document. URLs that cannot be understood and elements of other kinds are
// left out; a document that breaks the rules for names, sizes and hashes is an error, and so is one
// that is far larger than any that makes sense.
func Parse(r io.Reader) ([]File, error) {
	limited := &io.LimitedReader{R: r, N: maxSize}
	p := parser{decoder: xml.NewDecoder(limited)}
	p.decoder.CharsetReader = nil // UTF-8 alone
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
	errNone     = errors.New("it describes no file")
	errNot      = errors.New("it is no Metalink document of version 4")
)

type parser struct {
	decoder *xml.Decoder
	depth   int
}

// next returns the next element within the one that is open, or nil at its end.
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
				return nil, errors.New("its elements are nested too deep")
			}
			return &t, nil
		case xml.EndElement:
			p.depth--
			return nil, nil
		}
	}
}

// skip passes the rest of the open element.
func (p *parser) skip() error {
	for {
		e, err := p.next()
		if e == nil || err != nil {
			return err
		}
		if err := p.skip(); err != nil {
			return err
		}
	}
}

// text returns the text of the open element, and passes it.
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
	for {
		e, err := p.next()
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		if e.Name.Space != namespace || e.Name.Local != "file" {
			if err := p.skip(); err != nil {
				return nil, err
			}
			continue
		}
		f, err := p.file(attribute(e, "name"))
		if err != nil {
			return nil, err
		}
		if names[f.Name] {
			return nil, fmt.Errorf("two files are named %q", f.Name)
		}
		if names[f.Name] = true; len(files) == maxFiles {
			return nil, errTooLarge
		}
		files = append(files, *f)
	}
	if len(files) == 0 {
		return nil, errNone
	}
	return files, nil
}

// checkName returns an error for names that RFC 5854, section 4.1.2.1, forbids, and for some more.
func checkName(name string) error {
	if name == "" || name != path.Clean(name) || path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\\x00\r\n") {
		return fmt.Errorf("%q is no name for a file", name)
	}
	return nil
}

func (p *parser) file(name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f := &File{Name: name, Size: -1}
	best, bestPieces := len(hashes), len(hashes)
	for {
		e, err := p.next()
		if e == nil || err != nil {
			if err == nil {
				err = f.complete()
			}
			return f, err
		}
		if e.Name.Space != namespace {
			e.Name.Local = ""
		}
		switch e.Name.Local {
		case "size":
			text, err := p.text()
			if err != nil {
				return nil, err
			}
			if f.Size, err = strconv.ParseInt(text, 10, 64); err != nil || f.Size < 0 {
				return nil, fmt.Errorf("%q is no size", text)
			}
		case "hash":
			text, err := p.text()
			if err != nil {
				return nil, err
			}
			if n := rank(attribute(e, "type")); n >= 0 && n < best {
				if _, err := sum(text, n); err != nil {
					return nil, err
				}
				best, f.Checksum = n, hashes[n].short+":"+strings.ToLower(text)
			}
		case "pieces":
			n := rank(attribute(e, "type"))
			if n < 0 || n >= bestPieces {
				if err := p.skip(); err != nil {
					return nil, err
				}
				continue
			}
			if f.Pieces, err = p.pieces(attribute(e, "length"), n); err != nil {
				return nil, err
			}
			bestPieces = n
		case "url":
			text, err := p.text()
			if err != nil {
				return nil, err
			}
			u, err := uri.Parse(text)
			if err != nil {
				continue
			}
			if len(f.Sources) == maxSources {
				return nil, errTooLarge
			}
			f.Sources = append(f.Sources, Source{u, priority(attribute(e, "priority")), strings.ToLower(attribute(e, "location"))})
		default:
			if err := p.skip(); err != nil {
				return nil, err
			}
		}
	}
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
		return nil, fmt.Errorf("%.100q is no hash of type %s", text, hashes[n].name)
	}
	return b, nil
}

func (p *parser) pieces(length string, n int) (*Pieces, error) {
	all := &Pieces{New: hashes[n].new}
	var err error
	if all.Length, err = strconv.ParseInt(length, 10, 64); err != nil || all.Length <= 0 {
		return nil, fmt.Errorf("%q is no length of pieces", length)
	}
	for {
		e, err := p.next()
		if e == nil || err != nil {
			return all, err
		}
		text, err := p.text()
		if err != nil {
			return nil, err
		}
		if e.Name.Space != namespace || e.Name.Local != "hash" {
			continue
		}
		b, err := sum(text, n)
		if err != nil {
			return nil, err
		}
		if len(all.Sums) == maxPieces {
			return nil, errTooLarge
		}
		all.Sums = append(all.Sums, b)
	}
}

// complete sorts the sources, and leaves out pieces of which it is not known which they are.
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
