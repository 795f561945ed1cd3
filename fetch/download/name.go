package download

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Name returns a file name for a resource: the name that the server suggests in meta, otherwise the
// last element of the path of u. If both are empty, it is "index" with the extension of the content
// type. Meta is nil before the first request. U should be the URL that the user entered, because a
// server chooses the target of a redirect.
//
// The name is a single safe path element (see fetch.SafeName). It is never that of a partial file
// or its record, so that a server cannot plant one for a later transfer. It begins with a dot or a
// dash only if the last element of the path of u does.
func Name(u uri.URI, meta *fetch.Meta) string {
	name := suggested(u, meta)
	if n := len(name) - len(partialSuffix(name)); n < len(name) {
		return fetch.SafeName(name[:n] + "_" + name[n+1:])
	}
	return name
}

func suggested(u uri.URI, meta *fetch.Meta) string {
	named := lastElement(u)
	if meta != nil {
		// A suggestion that equals the URL's last element is the user's own name.
		if name := fetch.SafeName(meta.Name); name != "" && name != fetch.SafeName(named) {
			return name
		}
	}
	if named != "" {
		return named
	}
	if meta != nil {
		return "index" + extension(meta.ContentType)
	}
	return "index"
}

// isLead reports whether r must not begin a name that a server chose.
func isLead(r rune) bool { return r == '.' || r == '-' || unicode.IsSpace(r) }

// nameFor is Name for a request. If a server named the URL, as for a match of a pattern, a leading
// dot or dash is preceded by "_".
func nameFor(req *fetch.Request, meta *fetch.Meta) string {
	name := Name(req.URL, meta)
	if !req.From.IsZero() && strings.IndexFunc(name, isLead) == 0 {
		return "_" + name
	}
	return name
}

// expected returns the file name of a resource whose driver knows its kind before the request, or
// "". The request can then be conditional on the file of that name, which saves a request where
// the modification time costs one.
func (d *Downloader) expected(req *fetch.Request) string {
	x, err := d.Client.Explain(req)
	if err != nil || x.Expected == nil {
		return ""
	}
	meta := x.Expected
	if meta.Name == "" || meta.Kind != fetch.KindObject || meta.Form != nil {
		return ""
	}
	return nameFor(req, meta)
}

// lastElement returns the last element of the path of u as a file name, or "". URLs without
// slashes, such as data and news URLs, have no elements. A leading dot or dash is kept.
func lastElement(u uri.URI) string {
	if !strings.HasPrefix(u.Path(), "/") {
		return ""
	}
	name := u.LastSegment()
	const typeCode = ";type=" // RFC 1738, section 3.2.2
	if i := strings.LastIndexByte(name, ';'); i >= 0 && len(name)-i >= len(typeCode) &&
		strings.EqualFold(name[i:i+len(typeCode)], typeCode) {
		name = name[:i]
	}
	safe := fetch.SafeName(name)
	if strings.IndexFunc(name, isLead) == 0 && strings.IndexFunc(strings.TrimPrefix(safe, "_"), isLead) == 0 {
		return strings.TrimPrefix(safe, "_")
	}
	return safe
}

// extensions maps common content types to extensions. The tables of operating systems differ
// between machines.
var extensions = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"text/html":              ".html",
		"application/xhtml+xml":  ".xhtml",
		"text/plain":             ".txt",
		"text/uri-list":          ".uri",
		"text/css":               ".css",
		"text/csv":               ".csv",
		"text/xml":               ".xml",
		"text/javascript":        ".js",
		"application/javascript": ".js",
		"application/json":       ".json",
		"application/xml":        ".xml",
		"application/pdf":        ".pdf",
		"application/gzip":       ".gz",
		"application/zip":        ".zip",
		"image/jpeg":             ".jpg",
		"image/png":              ".png",
		"image/gif":              ".gif",
		"image/svg+xml":          ".svg",
		"image/webp":             ".webp",
		"audio/mpeg":             ".mp3",
		"video/mp4":              ".mp4",
		"message/rfc822":         ".eml",
	}
})

func extension(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	if ext, ok := extensions()[t]; ok {
		return ext
	}
	known, err := mime.ExtensionsByType(t)
	if err != nil || len(known) == 0 {
		return ""
	}
	return slices.Min(known)
}

// CheckName returns an error if name is not valid for [Downloader.Do] or [Options.Dir]: "" or a
// path of safe elements separated by slashes. If it is only too long for file systems, the error is
// of class fetch.ErrFile.
func CheckName(name string) error {
	if name == "" {
		return nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return &nameError{name, "does not name a file below the directory"}
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "" || element == "." || element == ".." || strings.ContainsRune(element, 0) ||
			filepath.Separator != '/' && strings.ContainsRune(element, filepath.Separator):
			return &nameError{name, "is not a path of names separated by slashes"}
		case len(element) > maxName:
			return errLongName
		}
	}
	return nil
}

// A nameError is an fs.ErrInvalid with the name and the reason.
type nameError struct{ name, reason string }

func (e *nameError) Error() string        { return fmt.Sprintf("%q %s", e.name, e.reason) }
func (e *nameError) Is(target error) bool { return target == fs.ErrInvalid }

// errLongName is returned before the transfer for a name that the file system would refuse after it.
var errLongName error = &fetch.Error{Code: fetch.ErrFile,
	Err: errors.New("file name too long"), Hint: "choose a shorter name"}

// maxName is the maximum length of file names, in bytes.
const maxName = 255

// numbered returns the n-th alternative to name. If n is 0, it returns name. If the result would
// exceed maxName, the part before the extension is shortened.
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	suffix := fmt.Sprintf(".%d", n)
	if over := len(name) + len(suffix) - maxName; over > 0 {
		ext := path.Ext(name)
		if len(ext) > 32 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:len(name)-len(ext)-over], "") + ext
	}
	return name + suffix
}
