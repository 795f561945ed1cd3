// Package listing parses the directory listings of FTP servers: MLSD (RFC 3659), NLST, and LIST in
// its known dialects.
package listing

import (
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

// An Entry is one line of a listing. The server chooses its values; a name may contain any bytes
// except CR LF.
type Entry struct {
	Name    string
	Kind    Kind
	Size    int64 // in bytes; -1 if unknown
	ModTime time.Time
	// Target is the target of a symbolic link.
	Target string
	// Mode is the mode in the notation of Unix, such as "-rw-r--r--".
	Mode string
	// Facts are the facts of MLSD, by lower-case name (RFC 3659, section 7.5).
	Facts map[string]string
	// Raw is the complete line.
	Raw string
}

// EntryFacts implements [driver.EntryRecord].
func (e Entry) EntryFacts() driver.Facts {
	return driver.Facts{Driver: "ftp", List: []driver.Fact{
		{Name: "name", Value: e.Name},
		{Name: "kind", Value: string(e.Kind)},
		{Name: "size", Value: e.Size},
		{Name: "mtime", Value: e.ModTime, Optional: true},
		{Name: "target", Value: e.Target, Optional: true},
		{Name: "mode", Value: e.Mode, Optional: true},
		{Name: "facts", Value: e.Facts, Optional: true},
		{Name: "raw", Value: e.Raw},
	}}
}

// A Kind is the type of an entry.
type Kind string

// The kinds of entries.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"
	Other     Kind = "other" // a device, a pipe, a socket
	Unknown   Kind = ""      // not in the listing
	Unparsed  Kind = "text"  // a line in an unknown format; Name is the line
)

// A Parser reads the lines of one listing. Some headings select the format of the lines below.
type Parser struct {
	now     time.Time
	dialect func(p *Parser, line string) (Entry, bool) // set by a heading; nil without one
}

// NewParser returns a parser. Dates without a year are within the year before now.
func NewParser(now time.Time) *Parser { return &Parser{now: now.UTC()} }

// unparsed returns the entry for a line in an unknown format.
func unparsed(line string) Entry { return Entry{Name: line, Kind: Unparsed, Size: -1, Raw: line} }

// NLST reads a line of NLST, which is a name. Servers may prefix it by the argument of NLST or the
// complete path. It returns false for a blank line, "." and "..".
func (p *Parser) NLST(line string) (Entry, bool) {
	name := line[strings.LastIndexByte(line, '/')+1:]
	if name == "" && line != "" {
		return unparsed(line), true
	}
	return Entry{Name: name, Kind: Unknown, Size: -1, Raw: line}, !isSelf(name)
}

// isSelf reports whether a name is empty, "." or "..".
func isSelf(name string) bool { return name == "" || name == "." || name == ".." }
