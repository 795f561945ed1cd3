package uri

import (
	"errors"
	"slices"
	"strings"
)

// Mailto is the decoded form of a mailto URL (RFC 1738, section 3.5; RFC 6068).
type Mailto struct {
	To     []string // addresses, those of "to" fields too
	Header []MailtoField
	Body   []string // lines; nil means that there is none
}

// A MailtoField is a field of the message header that the URL proposes.
type MailtoField struct{ Name, Value string }

// ParseMailto decodes a mailto URL. CR, LF and NUL are refused, except for line ends in the body,
// which divide its lines.
func ParseMailto(u URI) (Mailto, error) {
	d := decode(u, "mailto")
	d.noAuthority()
	var m Mailto
	m.To = d.addresses(nil, u.Path())
	query, _ := u.Query()
	for field := range strings.SplitSeq(query, "&") {
		if field == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			d.fail("mailto field without =")
		}
		switch name = d.token(name); strings.ToLower(name) {
		case "":
			d.fail("mailto field without a name")
		case "to":
			m.To = d.addresses(m.To, value)
		case "body":
			for line := range strings.SplitSeq(UnescapeRaw(value), "\n") {
				line = strings.TrimSuffix(line, "\r")
				d.check(line)
				m.Body = append(m.Body, line)
			}
		default:
			m.Header = append(m.Header, MailtoField{name, d.plain(value)})
		}
	}
	if m.To == nil && m.Header == nil && m.Body == nil {
		d.fail("no mail address")
	}
	return finish(d, m)
}

// addresses appends the addresses of a comma-separated list.
func (d *decoder) addresses(to []string, list string) []string {
	for address := range strings.SplitSeq(list, ",") {
		if address != "" {
			to = append(to, d.plain(address))
		}
	}
	return to
}

// URI writes m as a URL. It fails if m is empty, if an address or the name of a field is empty, if
// a field of Header is "to" or "body", or if a line of Body has CR, LF or NUL.
func (m Mailto) URI() (URI, error) {
	var to, query strings.Builder
	for i, address := range m.To {
		if i > 0 {
			to.WriteByte(',')
		}
		to.WriteString(escapeAddress(address))
	}
	mark := "?"
	field := func(name, value string) {
		query.WriteString(mark + escapeAddress(name) + "=" + escapeAddress(value))
		mark = "&"
	}
	for _, f := range m.Header {
		field(f.Name, f.Value)
	}
	if len(m.Body) > 0 {
		field("body", strings.Join(m.Body, "\r\n"))
	}
	return buildOpaque("mailto", to.String(), query.String(), m.check())
}

// check returns what keeps m from being written, or nil.
func (m Mailto) check() error {
	if len(m.To)+len(m.Header)+len(m.Body) == 0 || slices.Contains(m.To, "") {
		return errors.New("no mail address")
	}
	for _, f := range m.Header {
		switch strings.ToLower(f.Name) {
		case "":
			return errors.New("mailto field without a name")
		case "to", "body":
			return errors.New("to or body among the mailto fields")
		}
	}
	for _, line := range m.Body {
		if hasControl(line) {
			return ErrControl
		}
	}
	return nil
}

// escapeAddress encodes one address, or another word of a mailto URL.
func escapeAddress(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Escape(s), "%40", "@"), ",", "%2C")
}
