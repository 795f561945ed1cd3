package gopher

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
)

type itemType struct {
	kind  fetch.EntryKind
	media string // "" if unknown
	// text is set if servers end such items with a line with only a dot (RFC 1436, section 3.8,
	// "TextFile Entity").
	text bool
	// sniff is a part of the media types that are accepted from the first bytes of the content; "/"
	// accepts all.
	sniff string
}

const (
	menuMedia       = "application/gopher-menu"
	plusMenuMedia   = "application/gopher+-menu" // a menu with the attributes of its items
	attributesMedia = "application/gopher+-attributes"
	unknownMedia    = "application/octet-stream"
)

// itemTypes has the types of RFC 1436, section 3.8, those of Gopher+, and later ones in common use.
var itemTypes = [256]itemType{
	'0': {media: "text/plain", text: true},
	'1': {kind: fetch.EntryListing, media: menuMedia, text: true},
	'2': {kind: fetch.EntrySearch},
	'3': {kind: fetch.EntryError},
	'4': {media: "application/mac-binhex40", text: true},
	'5': {sniff: "/"},
	'6': {media: "text/x-uuencode", text: true},
	'7': {kind: fetch.EntrySearch, media: menuMedia, text: true},
	'8': {kind: fetch.EntrySession},
	'9': {sniff: "/"},
	'T': {kind: fetch.EntrySession},
	'g': {media: "image/gif"},
	'p': {media: "image/png"},
	'I': {sniff: "image/"},
	':': {sniff: "image/"},
	's': {sniff: "audio/"},
	'<': {sniff: "audio/"},
	';': {sniff: "video/"},
	'd': {sniff: "/"},
	'P': {media: "application/pdf"},
	'h': {media: "text/html", text: true},
	'i': {kind: fetch.EntryText},
	'M': {media: "message/rfc822", text: true},
	'c': {media: "text/calendar", text: true},
}

func (t itemType) contentType(head []byte) string {
	media := t.media
	if media == "" {
		media = t.sniffType(head)
	}
	if media == "text/plain" {
		media += charset(head)
	}
	return media
}

// sniffType returns the media type that the content indicates.
func (t itemType) sniffType(head []byte) string {
	if t.sniff == "" || len(head) == 0 {
		return unknownMedia
	}
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if strings.Contains(media, t.sniff) || media == "application/ogg" { // audio or video
		return media
	}
	return unknownMedia
}

// charset returns the charset parameter for a text that begins with head. It is "" if head is
// ASCII. Gopher does not declare charsets.
func charset(head []byte) string {
	if !slices.ContainsFunc(head, func(c byte) bool { return c >= 0x80 }) {
		return ""
	}
	// The last character may be truncated.
	for i := len(head) - 1; i >= 0 && i >= len(head)-utf8.UTFMax; i-- {
		if utf8.RuneStart(head[i]) {
			if !utf8.FullRune(head[i:]) {
				head = head[:i]
			}
			break
		}
	}
	if utf8.Valid(head) {
		return "; charset=utf-8"
	}
	return "; charset=iso-8859-1"
}
