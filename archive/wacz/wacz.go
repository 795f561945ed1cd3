// Package wacz packs WARC files, their index and a list of pages into one file, and reads such
// files (Web Archive Collection Zipped 1.1.1, https://specs.webrecorder.net/wacz/1.1.1/).
package wacz

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/warc"
)

const (
	version = "1.1.1"

	archiveDir  = "archive/"
	indexFile   = "indexes/index.cdx.gz"
	pagesFile   = "pages/pages.jsonl"
	packageFile = "datapackage.json"
	digestFile  = "datapackage-digest.json"

	// maxMembers bounds the members of a file, and maxPackage the description of them, in bytes.
	maxMembers = 100_000
	maxPackage = 64 << 20
	// maxPages bounds the list of pages.
	maxPages = 1 << 20
)

// A description is datapackage.json.
type description struct {
	Profile   string     `json:"profile"`
	Version   string     `json:"wacz_version"`
	Title     string     `json:"title,omitempty"`
	Created   time.Time  `json:"created"`
	Software  string     `json:"software,omitempty"`
	Resources []resource `json:"resources"`
}

type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// A pageList is the first line of pages.jsonl, and a page each other.
type pageList struct {
	Format string `json:"format"`
	ID     string `json:"id"`
	Title  string `json:"title"`
}

type page struct {
	URL string    `json:"url"`
	At  time.Time `json:"ts"`
}

// Options say what is written into a file besides. The zero value is the default.
type Options struct {
	Title    string
	Software string
	Created  time.Time // zero means now
}

// A Source is a WARC file to be packed.
type Source struct {
	Name string // such as a.warc.gz, without a directory
	io.ReaderAt
	Size int64
}

// Write packs WARC files. Each record must be compressed by itself, or the file not at all (see
// warc.ErrShared). Pages are the URLs whose answer was HTML, or in schemes without such a thing,
// what has content.
func Write(w io.Writer, files []Source, opts Options) error {
	p := &packer{zip: zip.NewWriter(w), about: description{Profile: "data-package", Version: version, Title: opts.Title,
		Created: cmp.Or(opts.Created, time.Now()).UTC().Truncate(time.Second), Software: opts.Software}}
	var lines [][]byte
	var pages []page
	seen := make(map[string]bool)
	for _, f := range files {
		if f.Name == "" || path.Base(f.Name) != f.Name || seen[f.Name] {
			return fmt.Errorf("%q cannot be the name of a file in a WACZ file, or stands there twice", f.Name)
		}
		seen[f.Name] = true
		_, err := warc.Index(f, f.Name, func(e warc.IndexEntry) error {
			lines = append(lines, e.AppendTo(nil))
			if isPage(e) && len(pages) < maxPages {
				pages = append(pages, page{e.URL, e.Date})
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if err := p.add(archiveDir+f.Name, io.NewSectionReader(f, 0, f.Size), zip.Store); err != nil {
			return err
		}
	}
	slices.SortFunc(lines, bytes.Compare)
	var index bytes.Buffer
	z := gzip.NewWriter(&index)
	for _, line := range lines {
		z.Write(line) // to memory
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := p.add(indexFile, &index, zip.Store); err != nil {
		return err
	}
	var list bytes.Buffer
	out := json.NewEncoder(&list)
	out.Encode(pageList{"json-pages-1.0", "pages", "All pages"}) // to memory
	for _, pg := range pages {
		out.Encode(pg)
	}
	if err := p.add(pagesFile, &list, zip.Deflate); err != nil {
		return err
	}
	return p.end()
}

// isPage reports whether people would begin at a capture.
func isPage(e warc.IndexEntry) bool {
	if scheme, _, _ := strings.Cut(e.URL, "://"); warc.HoldsHTTP(scheme) {
		return e.Status == 200 && e.Method == "" && (e.Mime == "text/html" || e.Mime == "application/xhtml+xml")
	}
	return e.Digest != "" && e.Mime != "text/dns"
}

// A packer writes the members of a file.
type packer struct {
	zip   *zip.Writer
	about description
}

// add writes a member and notes what it is.
func (p *packer) add(name string, content io.Reader, method uint16) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: p.about.Created})
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), content)
	p.about.Resources = append(p.about.Resources, resource{path.Base(name), name, digest(sum), n})
	return err
}

func digest(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// end writes what describes the members.
func (p *packer) end() error {
	text, err := json.MarshalIndent(p.about, "", "  ")
	if err != nil {
		return err
	}
	if err := p.add(packageFile, bytes.NewReader(text), zip.Deflate); err != nil {
		return err
	}
	own := p.about.Resources[len(p.about.Resources)-1]
	if text, err = json.Marshal(struct {
		Path string `json:"path"`
		Hash string `json:"hash"`
	}{own.Path, own.Hash}); err != nil {
		return err
	}
	if err := p.add(digestFile, bytes.NewReader(text), zip.Deflate); err != nil {
		return err
	}
	return p.zip.Close()
}

// A File is a WARC file within a WACZ file.
type File struct {
	Name string // as in indexes, without a directory
	*io.SectionReader
}

// A Reader reads a WACZ file.
type Reader struct {
	zip   *zip.Reader
	files []File
}

// NewReader reads the directory of a file of that size. WARC files in it that are compressed a
// second time, which the specification forbids, are an error.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("it has %d members; the limit is %d", len(z.File), maxMembers)
	}
	out := &Reader{zip: z}
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, archiveDir)
		if !ok || name == "" || strings.HasSuffix(name, "/") {
			continue
		}
		if f.Method != zip.Store {
			return nil, fmt.Errorf("%q is compressed within it", f.Name)
		}
		offset, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		if length := f.UncompressedSize64; length > uint64(size) || uint64(offset) > uint64(size)-length || f.CompressedSize64 != length {
			return nil, fmt.Errorf("%q does not lie within it", f.Name)
		}
		out.files = append(out.files, File{name, io.NewSectionReader(r, offset, int64(f.UncompressedSize64))})
	}
	if len(out.files) == 0 {
		return nil, errors.New("there is no WARC file in it")
	}
	return out, nil
}

// Files returns the WARC files.
func (r *Reader) Files() []File { return r.files }

// Verify compares the members with what the file says of them, and calls report with what is wrong.
func (r *Reader) Verify(report func(text string)) error {
	var about description
	text, err := r.read(packageFile)
	if err != nil {
		report(packageFile + ": " + err.Error())
		return nil
	}
	if err := json.Unmarshal(text, &about); err != nil {
		report(packageFile + ": " + err.Error())
		return nil
	}
	if text, err := r.read(digestFile); err == nil {
		var own struct{ Hash string }
		sum := sha256.New()
		described, _ := r.read(packageFile)
		sum.Write(described)
		if json.Unmarshal(text, &own) != nil || own.Hash != digest(sum) {
			report(packageFile + " has not the digest that is given of it")
		}
	}
	described := make(map[string]bool)
	for _, s := range about.Resources {
		described[s.Path] = true
		if text := r.check(s); text != "" {
			report(fmt.Sprintf("%q: %s", s.Path, text))
		}
	}
	for _, f := range r.zip.File {
		if !described[f.Name] && f.Name != packageFile && f.Name != digestFile && !strings.HasSuffix(f.Name, "/") {
			report(fmt.Sprintf("%q is not described", f.Name))
		}
	}
	return nil
}

// check returns what is wrong with a member, "" if nothing is.
func (r *Reader) check(s resource) string {
	f, err := r.zip.Open(s.Path)
	if err != nil {
		return "it is not there"
	}
	defer f.Close()
	sum := sha256.New()
	// One that grows without end when it is unpacked ends a byte behind its size.
	n, err := io.Copy(sum, io.LimitReader(f, max(s.Bytes, 0)+1))
	switch {
	case err != nil:
		return err.Error()
	case n != s.Bytes:
		return fmt.Sprintf("it has not %d bytes", s.Bytes)
	case strings.HasPrefix(s.Hash, "sha256:") && digest(sum) != s.Hash:
		return "it has not the digest that is given of it"
	}
	return ""
}

// read returns the content of a short member.
func (r *Reader) read(name string) ([]byte, error) {
	f, err := r.zip.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPackage+1))
	if err == nil && len(text) > maxPackage {
		err = fmt.Errorf("it is longer than %d bytes", maxPackage)
	}
	return text, err
}
