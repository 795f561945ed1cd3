package wais

import (
	"slices"
	"strings"

	"github.com/urlget/urlget/protocols/wais/apdu"
)

// The types of documents that mean something to the driver.
const (
	typeText   = "TEXT"
	typeSource = "WSRC" // the description of a database
	typeURL    = "URL"  // the headline is a link
)

// mediaTypes maps the types of WAIS to media types.
var mediaTypes = map[string]string{
	typeText:   "text/plain",
	typeSource: "application/x-wais-source",
	"HTML":     "text/html",
	"GIF":      "image/gif",
	"PICT":     "image/x-pict",
	"TIFF":     "image/tiff",
	"PS":       "application/postscript",
	"DVI":      "application/x-dvi",
	"JPEG":     "image/jpeg",
	"JFIF":     "image/jpeg",
}

func mediaType(docType string) string {
	if t, ok := mediaTypes[strings.ToUpper(docType)]; ok {
		return t
	}
	return "application/octet-stream"
}

// chooseType picks one of a document's types, given as "TEXT,PS", by the media
// types that the user prefers; the first if none of them is there.
func chooseType(list string, accept []string) string {
	types := strings.Split(list, ",")
	for _, want := range accept {
		for _, t := range types {
			if strings.EqualFold(want, mediaType(t)) {
				return t
			}
		}
	}
	return types[0]
}

func hasType(h apdu.Hit, docType string) bool { return slices.Contains(h.Types, docType) }

// first returns the first type, which is the server's favourite.
func first(types []string) string {
	if len(types) == 0 {
		return typeText
	}
	return types[0]
}
