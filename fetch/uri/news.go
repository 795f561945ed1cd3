package uri

import (
	"strconv"
	"strings"
)

// News is the decoded form of a news or snews URL (RFC 1738, section 3.6; RFC
// 5538). Exactly one of Group and MessageID is set.
type News struct {
	Scheme    string // "news" or "snews"; "" means "news"
	Host      string // "" means the reader's own server
	Port      uint16 // 0 means the scheme's own; ParseNews fills it in if there is a host
	Login     Userinfo
	Group     string // a newsgroup, "*" for all of them, or a pattern such as "comp.*"
	MessageID string // without the "<" and ">" around it
}

// ParseNews decodes a news or snews URL. An "@" tells a message identifier
// from a newsgroup. Without either the URL means all groups.
func ParseNews(u URI) (News, error) {
	d := decode(u, "news", "snews")
	n := News{Scheme: u.Scheme()}
	n.Host, n.Port, n.Login = d.newsServer()
	name := d.token(u.URLPath())
	switch {
	case strings.Contains(name, "@"):
		n.MessageID = d.messageID(name)
	case strings.Contains(name, "/"):
		d.fail("slash in a newsgroup name")
	case name == "":
		n.Group = "*"
	default:
		n.Group = name
	}
	return finish(d, n)
}

// newsServer returns the server that the URL names, if it names one.
func (d *decoder) newsServer() (host string, port uint16, login Userinfo) {
	if !d.u.authority {
		return "", 0, Userinfo{}
	}
	d.server()
	return d.u.Host(), d.port(), d.u.Userinfo()
}

// messageID checks a decoded message identifier. The angle brackets do not
// belong there, but are often written.
func (d *decoder) messageID(id string) string {
	if strings.HasPrefix(id, "<") && strings.HasSuffix(id, ">") {
		id = id[1 : len(id)-1]
	}
	if strings.ContainsAny(id, "<>") {
		d.fail("angle bracket in a message identifier")
	}
	return id
}

// URI writes n as a URL, or returns the zero URI if Host is not a host.
func (n News) URI() URI {
	scheme, name := orDefault(n.Scheme, "news"), escapeOpaque(n.Group+n.MessageID)
	if n.Host == "" {
		return buildOpaque(scheme, name)
	}
	return build(scheme, n.Login, n.Host, n.Port, "/"+name)
}

// NNTP is the decoded form of an nntp or nntps URL (RFC 1738, section 3.7; RFC
// 5538).
type NNTP struct {
	Scheme string // "nntp" or "nntps"; "" means "nntp"
	Host   string // "" means the reader's own server, as in RFC 1630
	Port   uint16 // 0 means the scheme's own; ParseNNTP fills it in if there is a host
	Login  Userinfo
	Group  string
	Number uint64 // of the article; 0 means the whole group
}

// ParseNNTP decodes an nntp or nntps URL. RFC 1630's form without a host,
// "nntp:group/number", is taken too.
func ParseNNTP(u URI) (NNTP, error) {
	d := decode(u, "nntp", "nntps")
	n := NNTP{Scheme: u.Scheme()}
	n.Host, n.Port, n.Login = d.newsServer()
	group, number, _ := strings.Cut(u.URLPath(), "/")
	n.Group = d.token(group)
	if n.Group == "" {
		d.fail("no newsgroup")
	}
	if strings.ContainsAny(n.Group, "@/") {
		d.fail("not a newsgroup name")
	}
	if number != "" {
		var err error
		n.Number, err = strconv.ParseUint(d.text(number), 10, 64)
		if err != nil || n.Number == 0 {
			d.fail("not an article number")
		}
	}
	return finish(d, n)
}

// URI writes n as a URL, or returns the zero URI if Host is not a host.
func (n NNTP) URI() URI {
	scheme, path := orDefault(n.Scheme, "nntp"), Escape(n.Group)
	if n.Number > 0 {
		path += "/" + strconv.FormatUint(n.Number, 10)
	}
	if n.Host == "" {
		return buildOpaque(scheme, path)
	}
	return build(scheme, n.Login, n.Host, n.Port, "/"+path)
}
