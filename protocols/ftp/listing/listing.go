// Package listing parses the directory listings of FTP servers: MLSD (RFC 3659), NLST, and LIST in
// its known dialects.
package listing

import (
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// An Entry is one line of a listing. The server chooses its values; a name may contain any bytes
// except CR LF.
type Entry struct {
	Name    string    `fact:"name"`
	Kind    Kind      `fact:"kind"`
	Size    int64     `fact:"size"` // in bytes; -1 if unknown
	ModTime time.Time `fact:"mtime,optional"`
	// Target is the target of a symbolic link.
	Target string `fact:"target,optional"`
	// Mode is the mode in the notation of Unix, such as "-rw-r--r--".
	Mode string `fact:"mode,optional"`
	// Facts are the facts of MLSD, by lower-case name (RFC 3659, section 7.5).
	Facts map[string]string `fact:"facts,optional"`
	// Raw is the complete line.
	Raw string `fact:"raw"`
}

// EntryFacts implements [fetch.EntryRecord].
func (e Entry) EntryFacts() fetch.Facts { return driver.FactsOf("ftp", "", e) }

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
	// Failure is a line that reports why the directory or a member was not read, such as the error
	// messages of /bin/ls. Name is the line.
	Failure Kind = "error"
)

// A Parser reads the lines of one listing. Some headings select the format of the lines below.
type Parser struct {
	now     time.Time
	dialect func(p *Parser, line string) (Entry, bool) // set by a heading; nil without one
	lone    bool                                       // the line before had only a name of VMS
}

// NewParser returns a parser. Dates without a year are within the year before now.
func NewParser(now time.Time) *Parser { return &Parser{now: now.UTC()} }

// unparsed returns the entry for a line in an unknown format or with an error message.
func unparsed(line string) Entry {
	e := Entry{Name: line, Kind: Unparsed, Size: -1, Raw: line}
	if isFailure(line) {
		e.Kind = Failure
	}
	return e
}

// systemErrors are the texts of errors in reading a directory, which end a message of /bin/ls or of a
// server with a built-in ls (POSIX, strerror).
var systemErrors = []string{
	"permission denied", "input/output error", "i/o error", "no such file or directory",
	"operation not permitted", "operation not supported", "not a directory", "stale file handle",
	"stale nfs file handle", "connection timed out", "host is down",
	"transport endpoint is not connected", "too many open files", "cannot allocate memory",
	"structure needs cleaning", "bad file descriptor",
}

// isFailure reports whether a line is an error message: "ls: reading directory .: Input/output error"
// or ".: Permission denied".
func isFailure(line string) bool {
	program, _, ok := strings.Cut(line, ": ")
	if ok && program[strings.LastIndexByte(program, '/')+1:] == "ls" {
		return true
	}
	at := strings.LastIndex(line, ": ")
	if at < 0 {
		return false
	}
	reason := strings.ToLower(strings.TrimRight(line[at+2:], " .\r"))
	return slices.Contains(systemErrors, reason)
}

// NLST reads a line of NLST, which is a name. Servers may prefix it by the argument of NLST or the
// complete path. It returns false for a blank line, "." and "..".
func (p *Parser) NLST(line string) (Entry, bool) {
	name := line[strings.LastIndexByte(line, '/')+1:]
	if name == "" && line != "" {
		return unparsed(line), true
	}
	return Entry{Name: name, Kind: Unknown, Size: -1, Raw: line}, !isSelf(name)
}

func isSelf(name string) bool { return name == "" || name == "." || name == ".." }
