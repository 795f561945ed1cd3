package serve

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// titleOf derives a page title from a URL whose scheme has these traits.
func titleOf(u uri.URI, t fetch.Traits) string {
	name := u.LastSegment()
	if dir := strings.TrimRight(u.Path(), "/"); name == "" && dir != "" {
		if name = dir[strings.LastIndexByte(dir, '/')+1:]; uri.UnescapeRaw(name) != "" {
			name = uri.UnescapeRaw(name)
		}
	}
	if t.Menus { // the last segment of the URL may be an item type
		name = strings.TrimRight(u.TreePath(), "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	switch {
	case name != "" && u.Host() != "":
		return name + " – " + u.Host()
	case u.Host() != "":
		return u.Host()
	}
	return u.Redacted()
}

// maxHead is how much of a document is read to find its title, in bytes.
const maxHead = 16 << 10

// documentTitle returns the title at the beginning of a document: the title of an HTML page, the
// subject of a message or the first heading of gemtext. It returns "" if there is none. It only
// waits for the beginning of types that are small or shown at once.
func documentTitle(kind, contentType string, body *bufio.Reader) string {
	title := ""
	switch {
	case isHTML(kind):
		first, _ := body.Peek(maxHead)
		title = links.Title(bytes.NewReader(first), contentType)
	case isMessage(kind):
		first, _ := body.Peek(maxHead)
		title = message.Decode(message.ParseHeader(first).Get("Subject"))
	case kind == gemtextType:
		first, _ := body.Peek(body.Buffered())
		title = gemtextTitle(first)
	}
	return strings.Join(strings.Fields(title), " ")
}
