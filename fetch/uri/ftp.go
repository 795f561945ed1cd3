package uri

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// FTP is the decoded form of an ftp or ftps URL (RFC 1738, section 3.2).
type FTP struct {
	Scheme string // "ftp" or "ftps"; "" means "ftp"
	Host   string
	Port   uint16 // 0 means the default of the scheme; ParseFTP fills it in
	Login  Userinfo
	CWD    []string // one CWD command each; "" is sent as "CWD "
	Name   string   // "" for the directory of CWD

	// Type is 'a', 'i' or 'd', RFC 1630's 'e' or 'l', or 0 if the client must guess.
	Type byte
	// Form is the second argument of TYPE in the notation of RFC 1630: "N", "T" or "C" for 'a' and
	// 'e', the byte size for 'l', otherwise "".
	Form string
}

// typeMark precedes the type code, in any case.
const typeMark = ";type="

// ParseFTP decodes an ftp or ftps URL. It decodes each segment of the path separately:
// "%2Fetc/motd" changes to the directory "/etc", while "/etc/motd" changes to "" and then to "etc"
// (RFC 1738, section 3.2.2).
//
// The type code may have the form of RFC 1738 or, with or without the space, that of RFC 1630. A
// ";" that does not start a type code is part of the name.
func ParseFTP(u URI) (FTP, error) {
	d := decode(u, "ftp", "ftps")
	d.server()
	f := FTP{Scheme: u.Scheme(), Host: u.Host(), Port: d.port(), Login: u.Userinfo()}
	path := u.URLPath()
	last := strings.LastIndexByte(path, '/') + 1
	name, code, ok := cutFold(path[last:], typeMark)
	if ok {
		f.Type, f.Form = d.typeCode(code)
	}
	for segment := range strings.SplitSeq(path[:last], "/") {
		f.CWD = append(f.CWD, d.text(segment))
	}
	// The text after the last slash is the name, not another segment.
	if f.CWD = f.CWD[:len(f.CWD)-1]; len(f.CWD) == 0 {
		f.CWD = nil
	}
	f.Name = d.text(name)
	return finish(d, f)
}

func (d *decoder) typeCode(code string) (typ byte, form string) {
	typ, form, ok := parseTypeCode(d.text(code))
	if !ok {
		d.fail("unknown FTP type code")
	}
	return typ, form
}

func parseTypeCode(code string) (typ byte, form string, ok bool) {
	if code == "" {
		return 0, "", false
	}
	rest := strings.ToUpper(code[1:])
	typ, form = code[0]|0x20, strings.TrimLeft(rest, " ")
	switch typ {
	case 'i', 'd':
		ok = rest == ""
	case 'a', 'e':
		ok = form == "N" || form == "T" || form == "C" || rest == ""
	case 'l':
		size, err := strconv.ParseUint(form, 10, 8)
		ok = err == nil && size > 0
		form = strconv.FormatUint(size, 10)
	}
	return typ, form, ok
}

// URI returns f as a URL. CWD and Name are names and not patterns, so asterisks in them are
// encoded. URI fails if Host is not a host, or if Type and Form are not a type code.
func (f FTP) URI() (URI, error) {
	var path strings.Builder
	for _, dir := range f.CWD {
		path.WriteString("/" + escapeFTP(dir))
	}
	path.WriteString("/" + escapeFTP(f.Name))
	var wrong error
	if f.Type != 0 || f.Form != "" {
		code := string(rune(f.Type)) + f.Form
		if typ, form, ok := parseTypeCode(code); !ok || typ != f.Type || form != f.Form {
			wrong = errors.New("unknown FTP type code")
		}
		if f.Form != "" || f.Type == 'e' {
			code = strings.ToUpper(code) // as in RFC 1630
		}
		path.WriteString(typeMark + code)
	}
	scheme := cmp.Or(f.Scheme, "ftp")
	return Parts{Scheme: scheme, Login: f.Login, Host: f.Host, Port: f.Port, Path: path.String()}.build(wrong)
}

func escapeFTP(name string) string {
	return strings.ReplaceAll(Escape(name), "*", "%2A")
}

func ftpBase(path string) string {
	last := strings.LastIndexByte(path, '/') + 1
	name, _, _ := cutFold(path[last:], typeMark)
	return path[:last] + name
}
