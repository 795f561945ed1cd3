package uri

import "strings"

// Telnet is the decoded form of a telnet URL (RFC 1738, section 3.8), or of
// the schemes rlogin and tn3270 of RFC 1630 and telnets, which have the same
// form. The login is advice for the user.
type Telnet struct {
	Scheme string // "telnet", "telnets", "rlogin" or "tn3270"; "" means "telnet"
	Host   string
	Port   uint16 // 0 means the scheme's own; ParseTelnet fills it in
	Login  Userinfo
}

// ParseTelnet decodes a telnet, telnets, rlogin or tn3270 URL.
func ParseTelnet(u URI) (Telnet, error) {
	d := decode(u, "telnet", "telnets", "rlogin", "tn3270")
	d.server()
	if u.URLPath() != "" {
		d.fail("path in a URL that names a session")
	}
	return finish(d, Telnet{Scheme: u.Scheme(), Host: u.Host(), Port: d.port(), Login: u.Userinfo()})
}

// URI writes t as a URL, or returns the zero URI if Host is not a host.
func (t Telnet) URI() URI {
	return build(orDefault(t.Scheme, "telnet"), t.Login, t.Host, t.Port, "/")
}

// Prospero is the decoded form of a prospero URL (RFC 1738, section 3.11).
type Prospero struct {
	Host    string
	Port    uint16 // 0 means 1525; ParseProspero fills it in
	HSOName string // the host-specific object name
	Fields  []ProsperoField
}

// A ProsperoField tells which of several objects is meant.
type ProsperoField struct{ Name, Value string }

// ObjectVersion is the name of the field that selects a version of an object.
const ObjectVersion = "OBJECT-VERSION"

// ParseProspero decodes a prospero URL. The slash after the host is not part
// of the name, so "//pros/name" means "/pros/name". A version in the form of
// RFC 1630, after "%00", becomes the field [ObjectVersion]; the attributes
// that may follow its digits there become a field without a value.
func ParseProspero(u URI) (Prospero, error) {
	d := decode(u, "prospero")
	d.server()
	d.noLogin()
	p := Prospero{Host: u.Host(), Port: d.port()}
	specs := strings.Split(u.URLPath(), ";")
	name, version, ok := strings.Cut(specs[0], "%00")
	p.HSOName = d.text(name)
	if ok {
		version = d.token(version)
		attributes := strings.TrimLeft(version, "0123456789")
		version = version[:len(version)-len(attributes)]
		if version == "" {
			d.fail("%00 without a version")
		}
		p.Fields = append(p.Fields, ProsperoField{ObjectVersion, version})
		if attributes != "" {
			p.Fields = append(p.Fields, ProsperoField{attributes, ""})
		}
	}
	for _, spec := range specs[1:] {
		name, value, ok := strings.Cut(spec, "=")
		if !ok {
			d.fail("prospero field without =")
		}
		p.Fields = append(p.Fields, ProsperoField{d.text(name), d.text(value)})
	}
	return finish(d, p)
}

// URI writes p as a URL, or returns the zero URI if Host is not a host.
func (p Prospero) URI() URI {
	var path strings.Builder
	path.WriteString("/" + escapeOpaque(p.HSOName))
	for _, f := range p.Fields {
		path.WriteString(";" + Escape(f.Name) + "=" + Escape(f.Value))
	}
	return build("prospero", Userinfo{}, p.Host, p.Port, path.String())
}

// MID is the decoded form of a mid URL (RFC 1738, section 4; RFC 2392): a
// message, or a part of one.
type MID struct {
	MessageID string // without the "<" and ">" around it
	ContentID string // of the part; "" means the whole message
}

// ParseMID decodes a mid URL. The slash that announces a part stands after the
// "@" of the message identifier.
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

// URI writes m as a URL.
func (m MID) URI() URI {
	rest := escapeID(m.MessageID)
	if m.ContentID != "" {
		rest += "/" + escapeID(m.ContentID)
	}
	return buildOpaque("mid", rest)
}

// CID is the decoded form of a cid URL (RFC 1738, section 4; RFC 2392): a part
// of the message in which the URL stands.
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

// URI writes c as a URL.
func (c CID) URI() URI { return buildOpaque("cid", escapeID(c.ContentID)) }

// escapeID encodes an identifier for a URL in which a slash divides.
func escapeID(id string) string { return strings.ReplaceAll(Escape(id), "%40", "@") }
