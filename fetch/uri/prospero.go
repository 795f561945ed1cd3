package uri

import "strings"

// Prospero is the decoded form of a prospero URL (RFC 1738, section 3.11).
type Prospero struct {
	Host    string
	Port    uint16 // 0 means 1525; ParseProspero fills it in
	HSOName string // the host-specific object name
	Fields  []ProsperoField
}

// A ProsperoField is a name and a value that select one of several objects.
type ProsperoField struct{ Name, Value string }

// ObjectVersion is the name of the field that selects a version of an object.
const ObjectVersion = "OBJECT-VERSION"

// ParseProspero decodes a prospero URL. The slash after the host is not part of the name, so
// "//pros/name" means "/pros/name". A version in the form of RFC 1630, after "%00", becomes the
// field [ObjectVersion]. Attributes after the digits of such a version become a field without a
// value.
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

// URI returns p as a URL. It fails if Host is not a host or HSOName contains CR, LF or NUL, which
// ParseProspero refuses.
func (p Prospero) URI() (URI, error) {
	var wrong error
	if hasControl(p.HSOName) {
		wrong = ErrControl
	}
	var path strings.Builder
	path.WriteString("/" + escapeOpaque(p.HSOName))
	for _, f := range p.Fields {
		path.WriteString(";" + Escape(f.Name) + "=" + Escape(f.Value))
	}
	return Parts{Scheme: "prospero", Host: p.Host, Port: p.Port, Path: path.String()}.build(wrong)
}

func prosperoBase(path string) string {
	path, _, _ = strings.Cut(path, ";")
	path, _, _ = strings.Cut(path, "%00")
	return path
}
