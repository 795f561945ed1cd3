package uri

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// News is the decoded form of a news or snews URL (RFC 1738, section 3.6; RFC 5538). Exactly one of
// Group and MessageID is set.
type News struct {
	Scheme    string // "news" or "snews"; "" means "news"
	Host      string // "" means the reader's own server
	Port      uint16 // 0 means the default of the scheme; ParseNews fills it in if there is a host
	Login     Userinfo
	Group     string // a newsgroup, "*" for all of them, or a pattern such as "comp.*"
	MessageID string // without the "<" and ">" around it
}

// ParseNews decodes a news or snews URL. An "@" distinguishes a message identifier from a
// newsgroup. If there is neither, the URL means all groups.
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

// Article returns the URL of the article with the message identifier id on the server of u. It
// fails if u is not a news, snews, nntp or nntps URL.
func (u URI) Article(id string) (URI, error) {
	n := News{Host: u.host, Port: u.port, MessageID: id}
	switch u.Scheme() {
	case "news", "nntp":
	case "snews", "nntps":
		n.Scheme = "snews"
	default:
		return URI{}, u.malformed("not a news URL")
	}
	return n.URI()
}

func (d *decoder) newsServer() (host string, port uint16, login Userinfo) {
	if !d.u.authority {
		return "", 0, Userinfo{}
	}
	d.server()
	return d.u.Host(), d.port(), d.u.Userinfo()
}

// messageID checks a decoded message identifier. Angle brackets are not part of it, but are often
// written.
func (d *decoder) messageID(id string) string {
	if strings.HasPrefix(id, "<") && strings.HasSuffix(id, ">") {
		id = id[1 : len(id)-1]
	}
	if strings.ContainsAny(id, "<>") {
		d.fail("angle bracket in a message identifier")
	}
	return id
}

// URI returns n as a URL. It fails if Host is not a host, if both Group and MessageID are set, or
// if one would be read as the other: only message identifiers contain an "@".
func (n News) URI() (URI, error) {
	var wrong error
	switch {
	case n.Group != "" && n.MessageID != "":
		wrong = errors.New("both a newsgroup and a message identifier")
	case strings.ContainsAny(n.Group, "@/"):
		wrong = errors.New("not a newsgroup name")
	case n.MessageID != "" && !strings.Contains(n.MessageID, "@"):
		wrong = errors.New("message identifier without @")
	}
	path := escapeOpaque(n.Group + n.MessageID)
	return buildNews(cmp.Or(n.Scheme, "news"), n.Login, n.Host, n.Port, path, wrong)
}

// buildNews returns a URL whose host is optional, or fails if cause is not nil.
func buildNews(
	scheme string, login Userinfo, host string, port uint16, path string, cause error,
) (URI, error) {
	if host != "" {
		return Parts{Scheme: scheme, Login: login, Host: host, Port: port, Path: "/" + path}.build(cause)
	}
	if cause == nil && (login != Userinfo{} || port != 0) {
		cause = errors.New("login or port without a host")
	}
	return buildOpaque(scheme, path, "", cause)
}

// NNTP is the decoded form of an nntp or nntps URL (RFC 1738, section 3.7; RFC 5538).
type NNTP struct {
	Scheme string // "nntp" or "nntps"; "" means "nntp"
	Host   string // "" means the reader's own server, as in RFC 1630
	Port   uint16 // 0 means the default of the scheme; ParseNNTP fills it in if there is a host
	Login  Userinfo
	Group  string
	Number uint64 // of the article; 0 means the whole group
}

// ParseNNTP decodes an nntp or nntps URL. It also accepts RFC 1630's form without a host,
// "nntp:group/number".
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

// URI returns n as a URL. It fails if Host is not a host or Group is not a newsgroup name.
func (n NNTP) URI() (URI, error) {
	var wrong error
	if n.Group == "" || strings.ContainsAny(n.Group, "@/") {
		wrong = errors.New("not a newsgroup name")
	}
	path := Escape(n.Group)
	if n.Number > 0 {
		path += "/" + strconv.FormatUint(n.Number, 10)
	}
	return buildNews(cmp.Or(n.Scheme, "nntp"), n.Login, n.Host, n.Port, path, wrong)
}
