// Package wacz reads and writes WACZ files, which contain WARC files, their index and a list of
// pages (Web Archive Collection Zipped 1.1.1, https://specs.webrecorder.net/wacz/1.1.1/).
package wacz

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/warc"
)

const (
	version = "1.1.1"

	archiveDir  = "archive/"
	indexFile   = "indexes/index.cdx.gz"
	pagesFile   = "pages/pages.jsonl"
	packageFile = "datapackage.json"
	digestFile  = "datapackage-digest.json"

	// maxMembers limits the members of a file and of those in it, and maxPackage the size of
	// datapackage.json in bytes.
	maxMembers = 100_000
	maxPackage = 64 << 20
	// maxDepth limits WACZ files in each other.
	maxDepth = 4
	// maxPages limits the list of pages.
	maxPages = 1 << 20
)

// A description is the content of datapackage.json.
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

	// Version 1.0.0 has the hash, without its algorithm, and the size in Stats.
	Stats   *stats `json:"stats,omitempty"`
	Hashing string `json:"hashing,omitempty"`
}

type stats struct {
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

func parseDescription(text []byte) (about description, err error) {
	err = json.Unmarshal(text, &about)
	for i := range about.Resources {
		s := &about.Resources[i]
		if s.Stats != nil && s.Hash == "" {
			s.Hash, s.Bytes = s.Stats.Hash, s.Stats.Bytes
		}
		if s.Hash != "" && !strings.Contains(s.Hash, ":") {
			s.Hash = cmp.Or(s.Hashing, "sha256") + ":" + s.Hash
		}
	}
	return about, err
}

// A pageList is the first line of pages.jsonl. Each other line is a page.
type pageList struct {
	Format string `json:"format"`
	ID     string `json:"id"`
	Title  string `json:"title"`
}

type page struct {
	URL string    `json:"url"`
	At  time.Time `json:"ts"`
}

// Options has metadata for datapackage.json. The zero value is valid.
type Options struct {
	Title    string
	Software string
	Created  time.Time // zero means now
}

// A File is a WARC file to be added to a WACZ file, or contained in one.
type File struct {
	Name string // base name as in indexes, such as a.warc.gz
	*io.SectionReader
}

// Write creates a WACZ file from WARC files. Each record must be a separate gzip member, or the
// file must not be compressed (see warc.Index). The list of pages contains the URLs of HTML
// responses and, for schemes without HTTP records, of all resources. If parts of files are damaged, Write
// continues and returns the first *warc.DamageError: the WACZ file is complete, and has them as they are.
func Write(w io.Writer, files []File, opts Options) error {
	p := &packer{zip: zip.NewWriter(w), about: description{
		Profile: "data-package", Version: version, Title: opts.Title, Software: opts.Software,
		Created: cmp.Or(opts.Created, time.Now()).UTC().Truncate(time.Second),
	}}
	var lines [][]byte
	var pages []page
	var damaged error
	seen := make(map[string]bool)
	for _, f := range files {
		if f.Name == "" || path.Base(f.Name) != f.Name || seen[f.Name] {
			return fmt.Errorf("%q: invalid or duplicate file name", f.Name)
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
			err = fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, isDamage := errors.AsType[*warc.DamageError](err); err != nil && !isDamage {
			return err
		}
		damaged = cmp.Or(damaged, err)
		if err := p.add(archiveDir+f.Name, io.NewSectionReader(f, 0, f.Size()), zip.Store); err != nil {
			return err
		}
	}
	slices.SortFunc(lines, bytes.Compare)
	var index bytes.Buffer
	z := gzip.NewWriter(&index)
	for _, line := range lines {
		z.Write(line) // cannot fail
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := p.add(indexFile, &index, zip.Store); err != nil {
		return err
	}
	var list bytes.Buffer
	out := json.NewEncoder(&list)
	out.Encode(pageList{"json-pages-1.0", "pages", "All pages"}) // cannot fail
	for _, pg := range pages {
		out.Encode(pg)
	}
	if err := p.add(pagesFile, &list, zip.Deflate); err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	return damaged
}

func isPage(e warc.IndexEntry) bool {
	if scheme, _, _ := strings.Cut(e.URL, "://"); httprecord.InScheme(scheme) {
		isHTML := e.Mime == "text/html" || e.Mime == "application/xhtml+xml"
		return isHTML && e.Status == 200 && e.Method == ""
	}
	return e.Digest != "" && e.Mime != "text/dns"
}

type packer struct {
	zip   *zip.Writer
	about description
}

func (p *packer) add(name string, content io.Reader, method uint16) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: p.about.Created})
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), content)
	added := resource{Name: path.Base(name), Path: name, Hash: digest.SHA256(sum), Bytes: n}
	p.about.Resources = append(p.about.Resources, added)
	return err
}

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
