package imap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

type target struct {
	mailsession.Server
	url      uri.URI // as requested
	mailbox  string  // decoded; "" means the server
	validity uint32  // the mailbox's UIDVALIDITY; 0 if the URL does not contain it
	uid      uint32  // the message; 0 means the mailbox
	section  string  // the part of the message; "" means the whole message
	partial  fetch.Range
	search   string // a search program (RFC 3501, section 6.4.4)
}

// maxName limits names of mailboxes and parts, and search programs, in bytes.
const maxName = 4 << 10

// etag returns an ETag for a message or part, whose bytes never change (RFC 3501, section 2.3.1.1).
// It returns "" if validity is unknown.
func (t *target) etag(validity uint32) string {
	if validity == 0 {
		return ""
	}
	tag := fmt.Sprintf("%d.%d", validity, t.uid)
	if t.section != "" {
		tag += "." + t.section
	}
	if !t.partial.IsZero() {
		tag += fmt.Sprintf(".%d.%d", t.partial.Offset, t.partial.Length)
	}
	return tag
}

// parse decodes a URL (RFC 5092):
//
//	imap://[USER[;AUTH=MECHANISM][:PASSWORD]@]HOST[:PORT]/   the mailboxes
//	.../MAILBOX[;UIDVALIDITY=N]                              its messages
//	.../MAILBOX[;UIDVALIDITY=N]?SEARCH                       messages that match a search
//	.../MAILBOX[;UIDVALIDITY=N]/;UID=N                       a message
//	.../;UID=N/;SECTION=PART[/;PARTIAL=OFFSET[.LENGTH]]      a part of it
func parse(u uri.URI) (*target, error) {
	srv, err := mailsession.Parse(u, 143, 993)
	if err != nil {
		return nil, err
	}
	t := &target{Server: srv, url: u}
	if query, ok := u.Query(); ok {
		if t.search, err = uri.Unescape(query); err != nil {
			return nil, err
		}
		if t.search == "" || len(t.search) > maxName || strings.HasSuffix(t.search, "}") {
			return nil, fetch.ErrURL.Errorf("the search is empty, too long or ends in a literal")
		}
	}
	return t, t.parsePath(u.Path())
}

func (t *target) parsePath(path string) error {
	var partial, section, uid, validity string
	var err error
	for _, p := range []struct {
		name  string
		value *string
	}{{"/;PARTIAL=", &partial}, {"/;SECTION=", &section}, {"/;UID=", &uid}, {";UIDVALIDITY=", &validity}} {
		if path, *p.value, err = cutParam(path, p.name); err != nil {
			return err
		}
	}
	if t.mailbox, err = uri.Unescape(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")); err != nil {
		return err
	}
	if len(t.mailbox) > maxName || !utf8.ValidString(t.mailbox) {
		return fetch.ErrURL.Errorf("the mailbox name is too long or not valid UTF-8")
	}
	if t.validity, err = parseNumber("UIDVALIDITY", validity); err != nil {
		return err
	}
	if t.uid, err = parseNumber("UID", uid); err != nil {
		return err
	}
	if t.section = strings.ToUpper(section); !isSection(t.section) {
		return fetch.ErrURL.Errorf("%q is not a part of a message", section)
	}
	if partial != "" {
		if t.partial, err = parsePartial(partial); err != nil {
			return err
		}
	}
	switch {
	case t.mailbox == "" && (t.uid != 0 || t.validity != 0 || t.search != ""):
		return fetch.ErrURL.Errorf("the URL has no mailbox")
	case t.uid == 0 && (section != "" || partial != ""):
		return fetch.ErrURL.Errorf("the URL has a part but no message")
	case t.uid != 0 && t.search != "":
		return fetch.ErrURL.Errorf("a message cannot be searched")
	}
	return nil
}

// messageHint returns a hint if the name of the mailbox ends in ";UID=N", which curl takes for a
// message.
func (t *target) messageHint() string {
	i := strings.LastIndex(strings.ToUpper(t.mailbox), ";UID=")
	if i < 0 {
		return ""
	}
	uid, err := strconv.ParseUint(t.mailbox[i+len(";UID="):], 10, 32)
	if err != nil {
		return ""
	}
	message := *t
	message.mailbox = t.mailbox[:i]
	u, err := message.messageURL(t.validity, uint32(uid))
	if err != nil {
		return ""
	}
	return "to retrieve a message, use " + u.WithoutUserinfo().String()
}

// cutParam cuts a parameter, such as "/;UID=", from the end of a path.
func cutParam(path, name string) (before, value string, err error) {
	i := strings.LastIndex(strings.ToUpper(path), name)
	if i < 0 {
		return path, "", nil
	}
	value, err = uri.Unescape(path[i+len(name):])
	if err == nil && value == "" {
		err = fetch.ErrURL.Errorf("%s has no value", strings.Trim(name, "/;="))
	}
	return path[:i], value, err
}

func parseNumber(name, value string) (uint32, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n == 0 {
		return 0, fetch.ErrURL.Errorf("%q is not a valid %s", value, name)
	}
	return uint32(n), nil
}

// parsePartial parses "OFFSET" or "OFFSET.LENGTH", in bytes.
func parsePartial(value string) (fetch.Range, error) {
	offset, length, hasLength := strings.Cut(value, ".")
	o, err := strconv.ParseInt(offset, 10, 64)
	l := int64(0)
	if err == nil && hasLength {
		if l, err = strconv.ParseInt(length, 10, 64); l == 0 {
			err = strconv.ErrRange
		}
	}
	if err != nil || o < 0 || l < 0 || o > math.MaxUint32 || l > math.MaxUint32 {
		return fetch.Range{}, fetch.ErrURL.Errorf("%q is not a byte range", value)
	}
	return fetch.Range{Offset: o, Length: l}, nil
}

// The section must not change the rest of the command (RFC 3501, section 6.4.5).
func isSection(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`[]{}"\<>%*`, c) >= 0 {
			return false
		}
	}
	return len(s) <= maxName && strings.Count(s, "(") == strings.Count(s, ")")
}

func (t *target) mailboxURL(name string) (uri.URI, error) {
	return t.resolve("/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/"))
}

func (t *target) messageURL(validity, uid uint32) (uri.URI, error) {
	path := "/" + strings.ReplaceAll(uri.Escape(t.mailbox), "%2F", "/")
	if validity != 0 {
		path += fmt.Sprintf(";UIDVALIDITY=%d", validity)
	}
	return t.resolve(fmt.Sprintf("%s/;UID=%d", path, uid))
}

func (t *target) resolve(path string) (uri.URI, error) {
	if strings.HasPrefix(path, "//") {
		path = "/%2F" + path[2:] // "//" would start a host
	}
	ref, err := uri.ParseRef(path)
	if err != nil {
		return uri.URI{}, err
	}
	return t.url.Resolve(ref), nil
}
