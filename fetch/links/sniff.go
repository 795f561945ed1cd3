package links

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
)

// sniffLength is the number of bytes that decide about the type of a document without one (MIME Sniffing,
// section 7).
const sniffLength = 512

// Sniff returns the content type of a document as browsers find it. If contentType is empty, that is
// text/css for the target of a link to a style sheet, and text/html or text/xml if the content begins so.
// The target of a link to a web app manifest is one, whatever its type. The returned reader has the whole
// document.
func Sniff(r io.Reader, contentType, rel string) (string, io.Reader) {
	switch {
	case rel == "manifest" && !strings.HasPrefix(contentType, "text/html"):
		return manifestType, r
	case contentType != "":
		return contentType, r
	case rel == "stylesheet":
		return "text/css", r
	}
	in := bufio.NewReader(r)
	start, _ := in.Peek(sniffLength) // an error occurs again
	found, _, _ := strings.Cut(http.DetectContentType(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf"))), ";")
	if found != "text/html" && found != "text/xml" {
		found = ""
	}
	return found, in
}
