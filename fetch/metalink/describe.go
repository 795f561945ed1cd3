package metalink

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A description is a Metalink document about a file, named by a header field (RFC 6249, section 4.1).
type description struct {
	url  uri.URI
	name string // of the file within the document; "" if unknown
}

// describe adds the information about f from a document: hashes of pieces, sources, and a size and a
// checksum if f has none or a weaker one. Fields that f already has are trusted more. If the size or
// the hash differs, describe returns an error and does not change f.
//
// Name is the name of f in the document. If it is "" and there are several files, f is found by the
// name of one of its sources.
func (f *file) describe(files []file, name string) error {
	d, err := f.among(files, name)
	if err != nil {
		return err
	}
	if f.size >= 0 && d.size >= 0 && f.size != d.size {
		return fmt.Errorf("it describes a file of %d bytes, not %d", d.size, f.size)
	}
	ours, ourSum, _ := strings.Cut(f.checksum, ":")
	theirs, theirSum, _ := strings.Cut(d.checksum, ":")
	switch better := rankShort(theirs) < rankShort(ours); {
	case ours == theirs && !strings.EqualFold(ourSum, theirSum):
		return errors.New("it describes a file with another " + ours)
	case better:
		f.checksum = d.checksum
	}
	if f.size < 0 {
		f.size = d.size
	}
	if f.size >= 0 {
		f.pieces = d.pieces
	}
	for _, s := range d.sources {
		known := slices.ContainsFunc(f.sources, func(have source) bool { return have.url == s.url })
		if !known && len(f.sources) <= maxSources {
			f.sources = append(f.sources, s)
		}
	}
	return f.complete()
}

func (f *file) among(files []file, name string) (*file, error) {
	if name == "" && len(files) == 1 {
		return &files[0], nil
	}
	for i := range files {
		have := files[i].name
		isSource := func(s source) bool { return path.Base(s.url.Path()) == path.Base(have) }
		if have == name || name == "" && slices.ContainsFunc(f.sources, isSource) {
			return &files[i], nil
		}
	}
	return nil, fmt.Errorf("none of its %d files matches", len(files))
}

// rankShort is rank for the names in Checksum. An unknown name ranks last.
func rankShort(short string) int {
	for i, h := range hashes {
		if h.short == short {
			return i
		}
	}
	return len(hashes)
}
