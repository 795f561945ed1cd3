package uri

import (
	"errors"
	"reflect"
	"testing"
)

// An encoder is a decoded URL of any scheme.
type encoder interface{ URI() (URI, error) }

// decodeURL decodes u with the decoder of its scheme. Without a decoder, it returns nil, nil.
func decodeURL(u URI) (encoder, error) {
	switch u.Scheme() {
	case "ftp", "ftps":
		return ParseFTP(u)
	case "gopher", "gophers":
		return ParseGopher(u)
	case "news", "snews":
		return ParseNews(u)
	case "nntp", "nntps":
		return ParseNNTP(u)
	case "telnet", "telnets", "rlogin", "tn3270":
		return Parts{Scheme: u.Scheme(), Login: u.Userinfo(), Host: u.Host(), Port: u.Port(lookup(u.Scheme()).port), Path: "/" + u.URLPath()}, nil
	case "wais":
		return ParseWAIS(u)
	case "file":
		return ParseFile(u)
	case "prospero":
		return ParseProspero(u)
	case "mid":
		return ParseMID(u)
	case "cid":
		return ParseCID(u)
	}
	return nil, nil
}

// A decodeCase is a URL and its decoded form. Want is nil if the URL must be refused.
type decodeCase struct {
	section string
	in      string
	want    encoder
}

func testDecode(t *testing.T, cases []decodeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.section+" "+c.in, func(t *testing.T) {
			t.Parallel()
			u, err := Parse(c.in)
			if err != nil {
				if c.want != nil {
					t.Fatal(err)
				}
				return
			}
			got, err := decodeURL(u)
			if c.want == nil {
				if e := (*Error)(nil); !errors.As(err, &e) {
					t.Fatalf("got %+v and error %v, want an *Error", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got  %#v\nwant %#v", got, c.want)
			}
			written, err := got.URI()
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeURL(written)
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%q decodes to %#v, %v", written, again, err)
			}
		})
	}
}

func user(name string) Userinfo { return Userinfo{Name: name, HasName: true} }

func login(name, password string) Userinfo {
	return Userinfo{Name: name, Password: password, HasName: true, HasPassword: true}
}

// parts holds the components named in RFC 1738.
type parts struct {
	scheme, host  string
	port          uint16
	login         Userinfo
	urlPath, frag string
}

func partsOf(u URI) parts {
	frag, _ := u.Fragment()
	return parts{u.Scheme(), u.Host(), u.Port(0), u.Userinfo(), u.URLPath(), frag}
}

func TestRFC1738GenericSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section, in string
		want        parts
	}{
		{"1", "http://www.acl.lanl.gov/URI/archive/uri-archive.index.html",
			parts{scheme: "http", host: "www.acl.lanl.gov", urlPath: "URI/archive/uri-archive.index.html"}},
		{"2.1", "scheme:scheme-specific-part", parts{scheme: "scheme", urlPath: "scheme-specific-part"}},
		{"2.1", "HTTP://h/", parts{scheme: "http", host: "h"}},
		{"2.1", "z39.50s+x-y:a", parts{scheme: "z39.50s+x-y", urlPath: "a"}},
		{"2.2", "http://h/;/?:@=&", parts{scheme: "http", host: "h", urlPath: ";/?:@=&"}},
		{"2.2", "http://h/$-_.+!*'(),", parts{scheme: "http", host: "h", urlPath: "$-_.+!*'(),"}},
		{"2.2", "http://h/%7Euser", parts{scheme: "http", host: "h", urlPath: "%7Euser"}},
		{"2.2", "http://h/~user", parts{scheme: "http", host: "h", urlPath: "~user"}},
		{"3.1", "x://user:password@host:1/url-path",
			parts{"x", "host", 1, login("user", "password"), "url-path", ""}},
		{"3.1", "ftp://@host.com/", parts{scheme: "ftp", host: "host.com", login: user("")}},
		{"3.1", "ftp://host.com/", parts{scheme: "ftp", host: "host.com"}},
		{"3.1", "ftp://foo:@host.com/", parts{scheme: "ftp", host: "host.com", login: login("foo", "")}},
		{"3.1", "ftp://a%3Ab%40c%2Fd:p%3A%40%2F@h/", parts{scheme: "ftp", host: "h", login: login("a:b@c/d", "p:@/")}},
		{"3.1", "ftp://h", parts{scheme: "ftp", host: "h"}},
		{"3.1", "ftp://h:", parts{scheme: "ftp", host: "h"}},
		{"4", "x-exp:data", parts{scheme: "x-exp", urlPath: "data"}},
		{"4", "afs://cell.example/path", parts{scheme: "afs", host: "cell.example", urlPath: "path"}},
		{"4", "nfs://h/path", parts{scheme: "nfs", host: "h", urlPath: "path"}},
		{"4", "mailserver:x%0D%0Ay", parts{scheme: "mailserver", urlPath: "x%0D%0Ay"}},
		{"4", "z39.50:x", parts{scheme: "z39.50", urlPath: "x"}},
		{"5 scheme", "a1+.-:x", parts{scheme: "a1+.-", urlPath: "x"}},
		{"5 schemepart", "x:", parts{scheme: "x"}},
		{"5 schemepart", "x:a;/?:@&=%41z", parts{scheme: "x", urlPath: "a;/?:@&=%41z"}},
		{"5 ip-schemepart", "x://h", parts{scheme: "x", host: "h"}},
		{"5 ip-schemepart", "x://h/", parts{scheme: "x", host: "h"}},
		{"5 ip-schemepart", "x://h/p", parts{scheme: "x", host: "h", urlPath: "p"}},
		{"5 login", "x://u@h:2", parts{scheme: "x", host: "h", port: 2, login: user("u")}},
		{"5 login", "x://u:p@h", parts{scheme: "x", host: "h", login: login("u", "p")}},
		{"5 hostname", "x://h", parts{scheme: "x", host: "h"}},
		{"5 hostname", "x://a.1.b-2.c-d", parts{scheme: "x", host: "a.1.b-2.c-d"}},
		{"5 hostnumber", "x://192.0.2.7", parts{scheme: "x", host: "192.0.2.7"}},
		{"5 port", "x://h:65535/", parts{scheme: "x", host: "h", port: 65535}},
		{"5 user", "x://a1$-_.+!*'(),;&=%41@h", parts{scheme: "x", host: "h", login: user("a1$-_.+!*'(),;&=A")}},
		{"5 password", "x://u:a1$-_.+!*'(),;&=%41@h",
			parts{scheme: "x", host: "h", login: login("u", "a1$-_.+!*'(),;&=A")}},
		{"5 escape", "x:%aF%Fa%09", parts{scheme: "x", urlPath: "%aF%Fa%09"}},
		{"5 httpurl", "http://h", parts{scheme: "http", host: "h"}},
		{"5 httpurl", "http://h:80/a/b;:@&=/?s;:@&=", parts{scheme: "http", host: "h", port: 80, urlPath: "a/b;:@&=/?s;:@&="}},
		{"appendix", "http://ds.internic.net/instructions/overview.html#WARNING",
			parts{scheme: "http", host: "ds.internic.net", urlPath: "instructions/overview.html", frag: "WARNING"}},
	} {
		t.Run(c.section+" "+c.in, func(t *testing.T) {
			t.Parallel()
			u, err := Parse(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := partsOf(u); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if u.String() != c.in {
				t.Errorf("printed as %q", u)
			}
		})
	}
}

func TestRFC1738Refused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section, in string
		offset      int
	}{
		{"2.2 control", "http://h/a\x00b", 10},
		{"2.2 control", "http://h/a\tb", 10},
		{"2.2 control", "http://h/a\r\nb", 10},
		{"2.2 control", "http://h/\x7f", 9},
		{"2.2 80-FF", "http://h/\xe9", 9},
		{"2.2 80-FF", "http://h/é", 9},
		{"2.2 unsafe", "http://h/a b", 10},
		{"2.2 unsafe", "http://h/<", 9},
		{"2.2 unsafe", "http://h/>", 9},
		{"2.2 unsafe", `http://h/"`, 9},
		{"2.2 unsafe", "http://h/{", 9},
		{"2.2 unsafe", "http://h/}", 9},
		{"2.2 unsafe", `http://h/\`, 9},
		{"2.2 unsafe", "http://h/^", 9},
		{"2.2 unsafe", "http://h/`", 9},
		{"2.2 unsafe", "http://h/#a#b", 11},
		{"2.2 unsafe", "http://h/%", 9},
		{"2.2 unsafe", "http://h/%4", 9},
		{"2.2 unsafe", "http://h/%4g", 9},
		{"2.1", ":x", 0},
		{"2.1", "a_b:x", 3},
		{"2.1, as narrowed by RFC 3986 section 3.1", "1a:x", 2},
		{"3.1", "ftp://a@b@h/", 7},
		{"3.1", "ftp://u%4@h/", 7},
		{"3.1", "ftp://[h/", 6},
		{"3.1", "ftp://u[@h/", 7},
		{"3.1", "ftp://h:12x/", 10},
		{"3.1", "ftp://h:-1/", 8},
		{"3.1", "ftp://h:0/", 8},
		{"3.1", "ftp://h:65536/", 8},
		{"3.1", "ftp://h:99999999999999999999/", 8},
		{"3.1", "ftp://h|/", 6},
		{"6", "ftp://u%0d%0aQUIT@h/", 7},
		{"6", "ftp://u:p%00@h/", 9},
	} {
		t.Run(c.section+" "+c.in, func(t *testing.T) {
			t.Parallel()
			u, err := Parse(c.in)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %+v and error %v, want an *Error", partsOf(u), err)
			}
			if e.Offset != c.offset {
				t.Errorf("%v: offset %d, want %d", e, e.Offset, c.offset)
			}
			if !u.IsZero() {
				t.Errorf("got %q beside an error", u)
			}
		})
	}
}

// In RFC 1738, a user name may contain "?". In RFC 3986, section 3.2, and in other programs, "?" ends
// the authority. No decoder may take the user name for a host.
func TestRFC1738QuestionMarkInUserName(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"ftp://us?er@h/x", "wais://us?er:pa@h"} {
		v, err := decodeURL(MustParse(s))
		if !isURLError(err) {
			t.Errorf("%s decodes to %+v, error %v", s, v, err)
		}
	}
}

func TestRFC1738FTP(t *testing.T) {
	t.Parallel()
	ftp := func(f FTP) FTP {
		f.Scheme, f.Port = "ftp", 21
		if f.Host == "" {
			f.Host = "h"
		}
		return f
	}
	testDecode(t, []decodeCase{
		{"3.1", "ftp://@host.com/", ftp(FTP{Host: "host.com", Login: user("")})},
		{"3.1", "ftp://host.com/", ftp(FTP{Host: "host.com"})},
		{"3.1", "ftp://foo:@host.com/", ftp(FTP{Host: "host.com", Login: login("foo", "")})},
		{"3.2", "ftp://h:2121/x", FTP{Scheme: "ftp", Host: "h", Port: 2121, Name: "x"}},
		{"3.2", "ftps://h/x", FTP{Scheme: "ftps", Host: "h", Port: 990, Name: "x"}},
		{"3.2.2", "ftp://h", ftp(FTP{})},
		{"3.2.2", "ftp://myname@host.dom/%2Fetc/motd",
			ftp(FTP{Host: "host.dom", Login: user("myname"), CWD: []string{"/etc"}, Name: "motd"})},
		{"3.2.2", "ftp://myname@host.dom/etc/motd",
			ftp(FTP{Host: "host.dom", Login: user("myname"), CWD: []string{"etc"}, Name: "motd"})},
		{"3.2.2", "ftp://myname@host.dom//etc/motd",
			ftp(FTP{Host: "host.dom", Login: user("myname"), CWD: []string{"", "etc"}, Name: "motd"})},
		{"3.2.2", "ftp://h/%2Fetc/motd;type=a", ftp(FTP{CWD: []string{"/etc"}, Name: "motd", Type: 'a'})},
		{"3.2.2", "ftp://h/a/b/c;type=d", ftp(FTP{CWD: []string{"a", "b"}, Name: "c", Type: 'd'})},
		{"3.2.2", "ftp://h/;type=d", ftp(FTP{Type: 'd'})},
		{"3.2.2", "ftp://h/a//;type=i", ftp(FTP{CWD: []string{"a", ""}, Type: 'i'})},
		{"3.2.2", "ftp://h/a%3Btype=i", ftp(FTP{Name: "a;type=i"})},
		{"3.2.2", "ftp://h/a%3Bb;type=i", ftp(FTP{Name: "a;b", Type: 'i'})},
		{"3.2.2", "ftp://h/a;b/c;type=d", ftp(FTP{CWD: []string{"a;b"}, Name: "c", Type: 'd'})},
		{"3.2.2", "ftp://h/file.txt;1", ftp(FTP{Name: "file.txt;1"})},
		{"3.2.2", "ftp://h/a;type=i/b", ftp(FTP{CWD: []string{"a;type=i"}, Name: "b"})},
		{"5 fsegment", "ftp://h/a?:@&=/b?;type=i", ftp(FTP{CWD: []string{"a?:@&="}, Name: "b?", Type: 'i'})},
		{"5 fsegment", "ftp://h/?x", ftp(FTP{Name: "?x"})},
		{"5 ftptype", "ftp://h/x;type=A", ftp(FTP{Name: "x", Type: 'a'})},
		{"5 ftptype", "ftp://h/x;type=I", ftp(FTP{Name: "x", Type: 'i'})},
		{"5 ftptype", "ftp://h/x;type=D", ftp(FTP{Name: "x", Type: 'd'})},
		{"5 ftptype", "ftp://h/x;TYPE=a", ftp(FTP{Name: "x", Type: 'a'})},
		{"5 ftptype", "ftp://h/x;type=", nil},
		{"5 ftptype", "ftp://h/x;type=q", nil},
		{"5 ftptype", "ftp://h/x;type=ii", nil},
		{"5 ftptype", "ftp://h/x;type=i%20", nil},
		{"5 ftpurl", "ftp:///x", nil},
		{"5 ftpurl", "ftp:x", nil},
		{"5 ftpurl", "ftp://h?x", nil},
		{"6", "ftp://h/a%0D%0ADELE%20b", nil},
		{"6", "ftp://h/a%0A/b", nil},
		{"6", "ftp://h/a%00b", nil},
		{"6", "ftp://h/a;type=i%0D%0A", nil},
	})
}

func TestRFC1738Gopher(t *testing.T) {
	t.Parallel()
	gopher := func(g Gopher) Gopher {
		g.Scheme, g.Host, g.Port = "gopher", "h", 70
		return g
	}
	testDecode(t, []decodeCase{
		{"3.4.1", "gopher://h", gopher(Gopher{Type: '1'})},
		{"3.4.1", "gopher://h/", gopher(Gopher{Type: '1'})},
		{"3.4.1", "gopher://h/0", gopher(Gopher{Type: '0'})},
		{"3.4.1", "gopher://h:7070/0a", Gopher{Scheme: "gopher", Host: "h", Port: 7070, Type: '0', Selector: "a"}},
		{"3.4.1", "gophers://h/0a", Gopher{Scheme: "gophers", Host: "h", Port: 70, Type: '0', Selector: "a"}},
		{"3.4.1 type twice", "gopher://h/00/dir/file", gopher(Gopher{Type: '0', Selector: "0/dir/file"})},
		{"3.4.1 nothing reserved", "gopher://h/7/sel?x;a=b&c:@/#y", gopher(Gopher{Type: '7', Selector: "/sel?x;a=b&c:@/"})},
		{"3.4.1 nothing reserved", "gopher://h/1/a/../b/.", gopher(Gopher{Type: '1', Selector: "/a/../b/."})},
		{"3.4.1 any byte", "gopher://h/0%01%FF", gopher(Gopher{Type: '0', Selector: "\x01\xff"})},
		{"3.4.1 encoded type", "gopher://h/%31x", gopher(Gopher{Type: '1', Selector: "x"})},
		{"3.4.2", "gopher://h/7sel%09search", gopher(Gopher{Type: '7', Selector: "sel", Search: "search", HasSearch: true})},
		{"3.4.2", "gopher://h/7sel%09", gopher(Gopher{Type: '7', Selector: "sel", HasSearch: true})},
		{"3.4.3", "gopher://h/7sel%09search%09+view%20lang",
			gopher(Gopher{Type: '7', Selector: "sel", Search: "search", HasSearch: true, Plus: "+view lang", HasPlus: true})},
		{"3.4.3", "gopher://h/0sel%09%09", gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, HasPlus: true})},
		{"3.4.4", "gopher://h/0sel%09%09+",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "+", HasPlus: true})},
		{"3.4.4", "gopher://h/0sel%09%09?",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "?", HasPlus: true})},
		{"3.4.6", "gopher://h/0sel%09%09!",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "!", HasPlus: true})},
		{"3.4.6", "gopher://h/1sel%09%09$",
			gopher(Gopher{Type: '1', Selector: "sel", HasSearch: true, Plus: "$", HasPlus: true})},
		{"3.4.7", "gopher://h/0sel%09%09!+ABSTRACT%20+SMELL",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "!+ABSTRACT +SMELL", HasPlus: true})},
		{"3.4.7", "gopher://h/1sel%09%09$+ABSTRACT",
			gopher(Gopher{Type: '1', Selector: "sel", HasSearch: true, Plus: "$+ABSTRACT", HasPlus: true})},
		{"3.4.8", "gopher://h/0sel%09%09+application/postscript%20Es_ES",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "+application/postscript Es_ES", HasPlus: true})},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0Afirst%0D%0Asecond%20one%0D%0A.%0D%0A",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "+", HasPlus: true, Form: []string{"first", "second one"}})},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0A.%0D%0A",
			gopher(Gopher{Type: '0', Selector: "sel", HasSearch: true, Plus: "+", HasPlus: true, Form: []string{}})},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0Afirst%0D%0A", nil},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0Afirst.%0D%0A", nil},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0A.%0D%0Aevil%0D%0A.%0D%0A", nil},
		{"3.4.9", "gopher://h/0sel%09%09+%091%0D%0A+-1%0D%0Aa%0Ab%0D%0A.%0D%0A", nil},
		{"3.4.9", "gopher://h/0sel%09%09+%0D%0Aevil", nil},
		{"5 gopherurl", "gopher://u@h/1", nil},
		{"5 gopherurl", "gopher:///1", nil},
		{"5 gopherurl", "gopher://h?x", nil},
		{"5 gtype", "gopher://h/%09search", nil},
		{"5 gtype", "gopher://h/%20x", nil},
		{"5 gtype", "gopher://h/;x", gopher(Gopher{Type: ';', Selector: "x"})},
		{"5 gtype", "gopher://h/?x", gopher(Gopher{Type: '?', Selector: "x"})},
		{"6", "gopher://h/0a%0D%0AQUIT", nil},
		{"6", "gopher://h/7a%09b%0AQUIT", nil},
		{"6", "gopher://h/0a%00", nil},
		{"6", "gopher://h/%0Aa", nil},
	})
}

func TestRFC1738OtherSchemes(t *testing.T) {
	t.Parallel()
	testDecode(t, []decodeCase{
		{"3.6", "news:comp.infosystems.www.misc", News{Scheme: "news", Group: "comp.infosystems.www.misc"}},
		{"3.6", "news:unique@full.domain", News{Scheme: "news", MessageID: "unique@full.domain"}},
		{"3.6", "news:*", News{Scheme: "news", Group: "*"}},
		{"5 group", "news:a1-b.c+d_e", News{Scheme: "news", Group: "a1-b.c+d_e"}},
		{"5 article", "news:a;/?:&=b%41@h", News{Scheme: "news", MessageID: "a;/?:&=bA@h"}},
		{"5 article", "news:a/b?c=d@x.org", News{Scheme: "news", MessageID: "a/b?c=d@x.org"}},
		{"5 article", "news:%2F/a@h", News{Scheme: "news", MessageID: "//a@h"}},
		{"6", "news:a%0D%0A@h", nil},
		{"6", "news:a%20b", nil},

		{"3.7", "nntp://h/comp.lang.c/1234", NNTP{Scheme: "nntp", Host: "h", Port: 119, Group: "comp.lang.c", Number: 1234}},
		{"3.7", "nntp://h:1119/a.b/1", NNTP{Scheme: "nntp", Host: "h", Port: 1119, Group: "a.b", Number: 1}},
		{"5 nntpurl", "nntp://h/a.b", NNTP{Scheme: "nntp", Host: "h", Port: 119, Group: "a.b"}},
		{"5 nntpurl", "nntp://h/", nil},
		{"5 nntpurl", "nntp://h/a.b/x", nil},
		{"5 nntpurl", "nntp://h/a.b/0", nil},
		{"5 nntpurl", "nntp://h/a.b/99999999999999999999", nil},
		{"5 nntpurl", "nntp://h/a@b", nil},
		{"6", "nntp://h/a.b%0d%0aQUIT/1", nil},

		{"3.8", "telnet://user:password@h:23/", Parts{Scheme: "telnet", Host: "h", Port: 23, Login: login("user", "password"), Path: "/"}},
		{"3.8", "telnet://user@h", Parts{Scheme: "telnet", Host: "h", Port: 23, Login: user("user"), Path: "/"}},
		{"3.8", "telnet://h", Parts{Scheme: "telnet", Host: "h", Port: 23, Path: "/"}},
		{"4", "tn3270://h", Parts{Scheme: "tn3270", Host: "h", Port: 23, Path: "/"}},

		{"3.9", "wais://h/db", WAIS{Host: "h", Port: 210, Database: "db"}},
		{"3.9", "wais://h:8210/a%2Fb", WAIS{Host: "h", Port: 8210, Database: "a/b"}},
		{"3.9", "wais://h/db?words", WAIS{Host: "h", Port: 210, Database: "db", Search: "words", HasSearch: true}},
		{"3.9", "wais://h/db?", WAIS{Host: "h", Port: 210, Database: "db", HasSearch: true}},
		{"3.9", "wais://h/db/TEXT/%0a%00%01", WAIS{Host: "h", Port: 210, Database: "db", DocType: "TEXT", WPath: "%0a%00%01"}},
		{"5 database", "wais://h/", WAIS{Host: "h", Port: 210}},
		{"5 wtype", "wais://h/db//1", WAIS{Host: "h", Port: 210, Database: "db", WPath: "1"}},
		{"5 waisdoc", "wais://h/db/TEXT", nil},
		{"5 waisdoc", "wais://h/db/TEXT/1?x", nil},
		{"5 waisurl", "wais://u@h/db", nil},
		{"6", "wais://h/db?a%0Db", nil},
		{"6", "wais://h/d%00b", nil},

		{"3.10", "file://vms.host.edu/disk$user/my/notes/note12345.txt",
			File{Host: "vms.host.edu", Path: "/disk$user/my/notes/note12345.txt"}},
		{"3.10", "file://localhost/etc/motd", File{Host: "localhost", Path: "/etc/motd"}},
		{"3.10", "file:///etc/motd", File{Path: "/etc/motd"}},
		{"3.10", "file:///C|/x", File{Path: "/C|/x"}},
		{"5 fileurl", "file:///a?:@&=/b%20c%3F", File{Path: "/a?:@&=/b c?"}},
		{"5 fileurl", "file:///", File{Path: "/"}},
		{"RFC 8089 section 2", "file:/etc/motd", File{Path: "/etc/motd"}},
		{"5 fileurl", "file:etc", nil},
		{"5 fileurl", "file://h:80/x", nil},
		{"5 fileurl", "file://u@h/x", nil},
		{"5 fileurl", "file:///a%2Fb", nil},
		{"5 fileurl", "file:///a%2fb", nil},
		{"6", "file:///a%00b", nil},

		{"3.11", "prospero://host.dom//pros/name", Prospero{Host: "host.dom", Port: 1525, HSOName: "/pros/name"}},
		{"3.11", "prospero://h:1526/name", Prospero{Host: "h", Port: 1526, HSOName: "name"}},
		{"3.11", "prospero://h/name;OBJECT-VERSION=3",
			Prospero{Host: "h", Port: 1525, HSOName: "name", Fields: []ProsperoField{{"OBJECT-VERSION", "3"}}}},
		{"5 ppath", "prospero://h/a?:@&=/b;f?:@&=v=w?:@&",
			Prospero{Host: "h", Port: 1525, HSOName: "a?:@&=/b", Fields: []ProsperoField{{"f?:@&", "v=w?:@&"}}}},
		{"5 fieldspec", "prospero://h/a%3Bb;c=;d=e%3B",
			Prospero{Host: "h", Port: 1525, HSOName: "a;b", Fields: []ProsperoField{{"c", ""}, {"d", "e;"}}}},
		{"5 fieldspec", "prospero://h/a;b", nil},
		{"5 prosperourl", "prospero://u@h/a", nil},
		{"6", "prospero://h/a%0Ab", nil},
		{"6", "prospero://h/a;b=c%0D", nil},

		{"4", "mid:unique@domain", MID{MessageID: "unique@domain"}},
		{"4", "cid:part@domain", CID{ContentID: "part@domain"}},
	})
}

func TestRFC1738Appendix(t *testing.T) {
	t.Parallel()
	const text = `Yes, Jim, I found it under <URL:ftp://info.cern.ch/pub/www/doc;
type=d> but you can probably pick it up from <URL:ftp://ds.in
ternic.net/rfc>. Note the warning in <URL:http://ds.internic.
net/instructions/overview.html#WARNING>.`
	want := []string{
		"ftp://info.cern.ch/pub/www/doc;type=d",
		"ftp://ds.internic.net/rfc",
		"http://ds.internic.net/instructions/overview.html#WARNING",
	}
	var got []string
	for u, err := range Extract(text) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, u.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// These are the "<URL:...>" examples in the text of RFC 1738.
func TestRFC1738TextExamples(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"<URL:http://www.acl.lanl.gov/URI/archive/uri-archive.index.html>",
		"<URL:ftp://@host.com/>",
		"<URL:ftp://host.com/>",
		"<URL:ftp://foo:@host.com/>",
		"<URL:ftp://myname@host.dom/%2Fetc/motd>",
		"<URL:ftp://myname@host.dom/etc/motd>",
		"<URL:ftp://myname@host.dom//etc/motd>",
		"<URL:news:*>",
		"<URL:file://vms.host.edu/disk$user/my/notes/note12345.txt>",
		"<URL:prospero://host.dom//pros/name>",
	} {
		u, err := ParseLoose(s)
		if err != nil {
			t.Error(err)
		}
		if want := s[len("<URL:") : len(s)-1]; u.String() != want {
			t.Errorf("%s: got %s", s, u)
		}
	}
}
