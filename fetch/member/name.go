package member

import (
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// plainName returns the name of a member without "./". Many programs begin each name with it.
func plainName(name string) string {
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	return name
}

// isSafe reports whether name stays below the directory to which it is relative, and has no control
// character that a protocol or a file system could misread. Backslashes and drive letters count, as
// on Windows.
func isSafe(name string) bool {
	if name == "" || strings.ContainsAny(name, "\r\n\x00") || len(name) > 1 && name[1] == ':' {
		return false
	}
	for s := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(name, `\`, "/"), "/"), "/") {
		if s == "" || s == "." || s == ".." {
			return false
		}
	}
	return true
}

// entry returns the entry of a member, or an EntryError if its name is unsafe.
func entry(archive uri.URI, name string, size int64, modTime time.Time) fetch.Entry {
	if !isSafe(name) {
		return fetch.Entry{Name: "unsafe name of a member: " + name, Kind: fetch.EntryError, Size: -1}
	}
	if !fetch.PlausibleTime(modTime) {
		modTime = time.Time{}
	}
	return fetch.Entry{URL: join(archive, name), Name: name, Rel: "item",
		ContentType: fetch.TypeByName(name), Size: size, ModTime: modTime}
}

func part(e fetch.Entry) driver.Part {
	if e.Kind == fetch.EntryError {
		return driver.URIListPart(e.Name, e)
	}
	return driver.URIListPart("", e)
}
