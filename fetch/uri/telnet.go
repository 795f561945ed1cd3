package uri

import "cmp"

// Telnet is the decoded form of a telnet URL (RFC 1738, section 3.8), or of the schemes rlogin and
// tn3270 of RFC 1630 and telnets, which have the same form. The login is advice for the user.
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

// URI writes t as a URL. It fails if Host is not a host.
func (t Telnet) URI() (URI, error) {
	return Parts{Scheme: cmp.Or(t.Scheme, "telnet"), Login: t.Login, Host: t.Host, Port: t.Port, Path: "/"}.URI()
}
