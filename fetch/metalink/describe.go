package metalink

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A Description is a Metalink document about a file that is named elsewhere (RFC 6249, section 4.1).
type Description struct {
	URL  uri.URI
	Name string // of the file within the document; "" if the server does not say
}

// Describe adds what a document says of f: the hashes of pieces, sources, and a size and a checksum
// where f has none, or a weaker one. What f says itself is from who named the document, and counts: a
// document about something else, by size or by hash, is an error, and changes nothing. Name is that
// of f in the document; "" finds it by the name of one of f's sources if there are several.
func (f *File) Describe(files []File, name string) error {
	d, err := f.among(files, name)
	if err != nil {
		return err
	}
	if f.Size >= 0 && d.Size >= 0 && f.Size != d.Size {
		return fmt.Errorf("it is about a file of %d bytes, not %d", d.Size, f.Size)
	}
	ours, ourSum, _ := strings.Cut(f.Checksum, ":")
	theirs, theirSum, _ := strings.Cut(d.Checksum, ":")
	switch better := rankShort(theirs) < rankShort(ours); {
	case ours == theirs && !strings.EqualFold(ourSum, theirSum):
		return errors.New("it is about a file with another " + ours)
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

// among returns the description of f.
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
	return nil, fmt.Errorf("none of the %d files that it describes is this one", len(files))
}

// rankShort is rank for the names that are used in File.Checksum; what is unknown is last.
func rankShort(short string) int {
	for i, h := range hashes {
		if h.short == short {
			return i
		}
	}
	return len(hashes)
}
