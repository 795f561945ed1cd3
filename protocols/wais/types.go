package wais

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// Document types that the driver handles.
const (
	typeText   = "TEXT"
	typeSource = "WSRC" // the description of a database
	typeURL    = "URL"  // the headline is a URL
)

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
	return cmp.Or(mediaTypes[strings.ToUpper(docType)], "application/octet-stream")
}

// chooseType selects one of the types in a list such as "TEXT,PS". It returns req.View, the first
// match of req.Accept, or the first type. Both fields hold WAIS types or media types.
func chooseType(list string, req *fetch.Request) (string, error) {
	types := strings.Split(list, ",")
	find := func(want string) int {
		return slices.IndexFunc(types, func(t string) bool {
			return strings.EqualFold(want, mediaType(t)) || strings.EqualFold(want, t)
		})
	}
	if req.View != "" {
		i := find(req.View)
		if i < 0 {
			return "", &fetch.Error{Code: fetch.ErrNotFound,
				Err:  fmt.Errorf("the document has no view %q", req.View),
				Hint: "available views: " + formatTypes(types)}
		}
		return types[i], nil
	}
	for _, want := range req.Accept {
		if i := find(want); i >= 0 {
			return types[i], nil
		}
	}
	return types[0], nil
}

func formatTypes(types []string) string {
	var list []string
	for _, t := range types {
		list = append(list, t+" ("+mediaType(t)+")")
	}
	return strings.Join(list, ", ")
}

func hasType(h apdu.Hit, docType string) bool { return slices.Contains(h.Types, docType) }

func firstType(types []string) string {
	if len(types) == 0 {
		return typeText
	}
	return types[0]
}
