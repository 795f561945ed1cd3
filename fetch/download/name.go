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

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Name chooses the file name for what u names: the name that the server
// suggests in meta, else the last element of u's path, else "index" with the
// extension of the media type. A nil meta means that nothing was asked yet. u
// should be the URL that the user gave: where a redirect ends is up to others.
// The result is always one safe path element (see fetch.SafeName), and never
// the name of an unfinished transfer or its record: nobody may plant one for a
// later transfer to continue.
func Name(u uri.URI, meta *fetch.Meta) string {
	name := suggested(u, meta)
	for _, ours := range []string{partSuffix, recordSuffix, tempSuffix} {
		if len(name) >= len(ours) && strings.EqualFold(name[len(name)-len(ours):], ours) {
			return fetch.SafeName(name[:len(name)-len(ours)] + "_" + name[len(name)-len(ours)+1:])
		}
	}
	return name
}

func suggested(u uri.URI, meta *fetch.Meta) string {
	if meta != nil {
		// A suggested name must not be one that programs read by themselves
		// and directories do not show.
		if name := fetch.SafeName(strings.TrimLeft(meta.Name, ".")); name != "" {
			return name
		}
	}
	if name := lastElement(u); name != "" {
		return name
	}
	if meta != nil {
		return "index" + extension(meta.ContentType)
	}
	return "index"
}

// lastElement returns the last element of u's path as a file name, or "". The
// path of a URL without slashes, as data and news have them, has no elements.
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
	return fetch.SafeName(name)
}

// extensions holds those of common media types, since what the system's tables
// say differs from machine to machine.
var extensions = map[string]string{
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

// extension returns the file extension of a media type, with its dot, or "".
func extension(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	if ext, ok := extensions[t]; ok {
		return ext
	}
	known, err := mime.ExtensionsByType(t)
	if err != nil || len(known) == 0 {
		return ""
	}
	return slices.Min(known)
}

// checkName refuses what is not the name of a file directly below a root.
func checkName(name string) error {
	switch {
	case name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%q is not the name of a file in the directory: %w", name, fs.ErrInvalid)
	case len(name) > maxName:
		return errors.New("the file name is too long")
	}
	return nil
}

// maxName is the length of a name that file systems take, in octets.
const maxName = 255

// numbered returns the n-th other name for name, itself for 0, shortened in
// front of the extension if it would get too long.
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
