package links

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// sniffLength is the number of bytes that decide about the type of a document without one (MIME Sniffing,
// section 7).
const sniffLength = 512

// IsUnknown reports whether a content type says nothing (MIME Sniffing, section 7), or is not one.
func IsUnknown(contentType string) bool {
	mediaType, _, err := parseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return true
	}
	return mediaType == "unknown/unknown" || mediaType == "application/unknown" || mediaType == "*/*"
}

// Sniff returns the content type of a document as browsers find it. If contentType says nothing, that is
// text/css for the target of a link to a style sheet, text/javascript for a script, and text/html or
// text/xml if the content begins so.
// The target of a link to a web app manifest is one, whatever its type. The returned reader has the whole
// document.
func Sniff(r io.Reader, contentType, rel string) (string, io.Reader) {
	switch {
	case rel == "manifest" && !strings.HasPrefix(contentType, "text/html"):
		return manifestType, r
	case !IsUnknown(contentType):
		return contentType, r
	case rel == "stylesheet":
		return "text/css", r
	case rel == "script", rel == "import", rel == "modulepreload":
		return "text/javascript", r
	}
	in := bufio.NewReader(r)
	start, _ := in.Peek(sniffLength) // an error occurs again
	found, _, _ := strings.Cut(http.DetectContentType(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf"))), ";")
	if found != "text/html" && found != "text/xml" {
		found = contentType
	}
	return found, in
}
