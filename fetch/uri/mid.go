package uri

import (
	"errors"
	"strings"
)

// MID is the decoded form of a mid URL (RFC 1738, section 4; RFC 2392): a message or a part of it.
type MID struct {
	MessageID string // without the "<" and ">" around it
	ContentID string // of the part; "" means the whole message
}

// ParseMID decodes a mid URL. The slash before the part is the first one after the "@" of the
// message identifier.
func ParseMID(u URI) (MID, error) {
	d := decode(u, "mid")
	d.noAuthority()
	path := u.URLPath()
	at := max(strings.IndexByte(path, '@'), 0)
	domain, part, _ := strings.Cut(path[at:], "/")
	m := MID{d.messageID(d.token(path[:at] + domain)), d.messageID(d.token(part))}
	if m.MessageID == "" {
		d.fail("no message identifier")
	}
	return finish(d, m)
}

// URI returns m as a URL. It fails if MessageID is empty, or if ContentID is set and MessageID has
// no "@", because the slash between them is the first one after an "@".
func (m MID) URI() (URI, error) {
	var wrong error
	switch {
	case m.MessageID == "":
		wrong = errors.New("no message identifier")
	case m.ContentID != "" && !strings.Contains(m.MessageID, "@"):
		wrong = errors.New("message identifier without @")
	}
	rest := escapeID(m.MessageID)
	if m.ContentID != "" {
		rest += "/" + escapeID(m.ContentID)
	}
	return buildOpaque("mid", rest, "", wrong)
}

// CID is the decoded form of a cid URL (RFC 1738, section 4; RFC 2392): a part of the message that
// contains the URL.
type CID struct {
	ContentID string // without the "<" and ">" around it
}

// ParseCID decodes a cid URL.
func ParseCID(u URI) (CID, error) {
	d := decode(u, "cid")
	d.noAuthority()
	c := CID{d.messageID(d.token(u.URLPath()))}
	if c.ContentID == "" {
		d.fail("no content identifier")
	}
	return finish(d, c)
}

// URI returns c as a URL. It fails if ContentID is empty.
func (c CID) URI() (URI, error) {
	var wrong error
	if c.ContentID == "" {
		wrong = errors.New("no content identifier")
	}
	return buildOpaque("cid", escapeID(c.ContentID), "", wrong)
}

// escapeID encodes an identifier for a URL with slashes as separators.
func escapeID(id string) string { return strings.ReplaceAll(Escape(id), "%40", "@") }
