// Package listing parses the directory listings of FTP servers: MLSD, which is standard (RFC 3659),
// NLST, and LIST in the dialects that servers are known to speak.
package listing

import (
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

// An Entry is one line of a listing. Everything in it is the server's word: a name may be any bytes
// but CR LF.
type Entry struct {
	Name    string
	Kind    Kind
	Size    int64 // in bytes; -1 if unknown
	ModTime time.Time
	// Target is where a symbolic link leads.
	Target string
	// Mode is the mode as Unix servers show it, such as "-rw-r--r--".
	Mode string
	// Facts are those of MLSD, by name in lower case (RFC 3659, section 7.5).
	Facts map[string]string
	// Raw is the line.
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

// A Kind says what an entry is.
type Kind string

// The kinds of entries.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"
	Other     Kind = "other" // a device, a pipe, a socket
	Unknown   Kind = ""      // the listing does not tell
	Unparsed  Kind = "text"  // a line that is not understood; Name is the line
)

// A Parser reads the lines of one listing. Some lines say how to read those after them.
type Parser struct {
	now     time.Time
	dialect func(p *Parser, line string) (Entry, bool) // set by a heading; nil if there was none
}

// NewParser returns a parser. Dates without a year are of the year before now.
func NewParser(now time.Time) *Parser { return &Parser{now: now.UTC()} }

// unparsed is the entry of a line that is not understood.
func unparsed(line string) Entry { return Entry{Name: line, Kind: Unparsed, Size: -1, Raw: line} }

// NLST reads a line of NLST, which is a name. Servers may put the argument of NLST before it, or
// the whole path. It reports false for a blank line and for the directory itself and the one above
// it.
func (p *Parser) NLST(line string) (Entry, bool) {
	name := line[strings.LastIndexByte(line, '/')+1:]
	if name == "" && line != "" {
		return unparsed(line), true
	}
	return Entry{Name: name, Kind: Unknown, Size: -1, Raw: line}, !isSelf(name)
}

// isSelf reports whether a name is of the directory itself or the one above it.
func isSelf(name string) bool { return name == "" || name == "." || name == ".." }
