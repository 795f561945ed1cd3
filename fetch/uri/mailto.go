package uri

import "strings"

// Mailto is the decoded form of a mailto URL (RFC 1738, section 3.5; RFC
// 6068).
type Mailto struct {
	To     []string // addresses, those of "to" fields too
	Header []MailtoField
	Body   []string // lines; nil means that there is none
}

// A MailtoField is a field of the message header that the URL proposes.
type MailtoField struct{ Name, Value string }

// ParseMailto decodes a mailto URL. CR, LF and NUL are refused, but the line
// ends of a body divide its lines.
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

// addresses appends the addresses of a list, which commas divide.
func (d *decoder) addresses(to []string, list string) []string {
	for address := range strings.SplitSeq(list, ",") {
		if address != "" {
			to = append(to, d.plain(address))
		}
	}
	return to
}

// URI writes m as a URL.
func (m Mailto) URI() URI {
	var b strings.Builder
	for i, address := range m.To {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(escapeAddress(address))
	}
	mark := "?"
	field := func(name, value string) {
		b.WriteString(mark + escapeAddress(name) + "=" + escapeAddress(value))
		mark = "&"
	}
	for _, f := range m.Header {
		field(f.Name, f.Value)
	}
	if m.Body != nil {
		field("body", strings.Join(m.Body, "\r\n"))
	}
	return buildOpaque("mailto", b.String())
}

// escapeAddress encodes one address, or another word of a mailto URL.
func escapeAddress(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Escape(s), "%40", "@"), ",", "%2C")
}
