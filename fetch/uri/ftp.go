package uri

import (
	"strconv"
	"strings"
)

// FTP is the decoded form of an ftp or ftps URL (RFC 1738, section 3.2).
type FTP struct {
	Scheme string // "ftp" or "ftps"; "" means "ftp"
	Host   string
	Port   uint16 // 0 means the scheme's own; ParseFTP fills it in
	Login  Userinfo
	CWD    []string // one command each; "" is sent as "CWD "
	Name   string   // "" for the directory that CWD leads to

	// Type is 'a', 'i' or 'd', RFC 1630's 'e' or 'l', or 0 when the client
	// must guess.
	Type byte
	// Form is the second argument of TYPE in the notation of RFC 1630: "N",
	// "T" or "C" for 'a' and 'e', the byte size for 'l', otherwise "".
	Form string
}

// ParseFTP decodes an ftp or ftps URL. The segments of the path are decoded
// one by one, so "%2Fetc/motd" changes to the directory "/etc" while
// "/etc/motd" changes to "" and then to "etc" (RFC 1738, section 3.2.2).
//
// The type code is taken in the forms of RFC 1738 and, with or without the
// space, of RFC 1630. A ";" that does not start a type code is part of a name.
func ParseFTP(u URI) (FTP, error) {
	d := decode(u, "ftp", "ftps")
	d.server()
	f := FTP{Scheme: u.Scheme(), Host: u.Host(), Port: d.port(), Login: u.Userinfo()}
	path := u.URLPath()
	last := strings.LastIndexByte(path, '/') + 1
	name, code, ok := cutFold(path[last:], ";type=")
	if ok {
		f.Type, f.Form = d.typeCode(code)
	}
	for segment := range strings.SplitSeq(path[:last], "/") {
		f.CWD = append(f.CWD, d.text(segment))
	}
	// What follows the last slash is the name, not another segment.
	if f.CWD = f.CWD[:len(f.CWD)-1]; len(f.CWD) == 0 {
		f.CWD = nil
	}
	f.Name = d.text(name)
	return finish(d, f)
}

// typeCode reads what follows ";type=".
func (d *decoder) typeCode(code string) (typ byte, form string) {
	code = strings.ToUpper(d.text(code))
	if code == "" {
		d.fail("empty FTP type code")
		return 0, ""
	}
	typ, form = code[0]|0x20, strings.TrimLeft(code[1:], " ")
	valid := false
	switch typ {
	case 'i', 'd':
		valid = code[1:] == ""
	case 'a', 'e':
		valid = form == "N" || form == "T" || form == "C" || code[1:] == ""
	case 'l':
		size, err := strconv.ParseUint(form, 10, 8)
		valid = err == nil && size > 0
		form = strconv.FormatUint(size, 10)
	}
	if !valid {
		d.fail("unknown FTP type code")
	}
	return typ, form
}

// IsDir reports whether the URL asks for a directory: by type "d" (RFC 1738)
// or by a final slash (RFC 1630).
func (f FTP) IsDir() bool { return f.Type == 'd' || f.Name == "" }

// URI writes f as a URL, or returns the zero URI if Host is not a host.
func (f FTP) URI() URI {
	var path strings.Builder
	for _, dir := range f.CWD {
		path.WriteString("/" + Escape(dir))
	}
	path.WriteString("/" + Escape(f.Name))
	switch {
	case f.Type == 'a' && f.Form == "", f.Type == 'i', f.Type == 'd':
		path.WriteString(";type=" + string(rune(f.Type)))
	case f.Type != 0:
		path.WriteString(";type=" + strings.ToUpper(string(rune(f.Type))) + f.Form)
	}
	return build(orDefault(f.Scheme, "ftp"), f.Login, f.Host, f.Port, path.String())
}

// orDefault returns scheme, or def if it is "".
func orDefault(scheme, def string) string {
	if scheme == "" {
		return def
	}
	return scheme
}
