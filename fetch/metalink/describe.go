package metalink

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A Description is a Metalink document about a file, named by a header field (RFC 6249, section 4.1).
type Description struct {
	URL  uri.URI
	Name string // of the file within the document; "" if unknown
}

// Describe adds the information about f from a document: hashes of pieces, sources, and a size and a
// checksum if f has none or a weaker one. Fields that f already has are trusted more. If the size or
// the hash differs, Describe returns an error and does not change f.
//
// Name is the name of f in the document. If it is "" and there are several files, f is found by the
// name of one of its sources.
func (f *File) Describe(files []File, name string) error {
	d, err := f.among(files, name)
	if err != nil {
		return err
	}
	if f.Size >= 0 && d.Size >= 0 && f.Size != d.Size {
		return fmt.Errorf("it describes a file of %d bytes, not %d", d.Size, f.Size)
	}
	ours, ourSum, _ := strings.Cut(f.Checksum, ":")
	theirs, theirSum, _ := strings.Cut(d.Checksum, ":")
	switch better := rankShort(theirs) < rankShort(ours); {
	case ours == theirs && !strings.EqualFold(ourSum, theirSum):
		return errors.New("it describes a file with another " + ours)
	case better:
		f.Checksum = d.Checksum
	}
	if f.Size < 0 {
		f.Size = d.Size
	}
	if f.Size >= 0 {
		f.Pieces = d.Pieces
	}
	for _, s := range d.Sources {
		if len(f.Sources) <= maxSources && !slices.ContainsFunc(f.Sources, func(have Source) bool { return have.URL.String() == s.URL.String() }) {
			f.Sources = append(f.Sources, s)
		}
	}
	return f.complete()
}

// among returns the element of files that describes f.
func (f *File) among(files []File, name string) (*File, error) {
	if name == "" && len(files) == 1 {
		return &files[0], nil
	}
	for i := range files {
		switch have := files[i].Name; {
		case name != "" && have == name:
			return &files[i], nil
		case name == "" && slices.ContainsFunc(f.Sources, func(s Source) bool { return path.Base(s.URL.Path()) == path.Base(have) }):
			return &files[i], nil
		}
	}
	return nil, fmt.Errorf("none of its %d files matches", len(files))
}

// rankShort is rank for the names in File.Checksum. An unknown name ranks last.
func rankShort(short string) int {
	for i, h := range hashes {
		if h.short == short {
			return i
		}
	}
	return len(hashes)
}
