package uri

import (
	"reflect"
	"testing"
)

func TestRFC1630Syntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section, in string
		want        parts
	}{
		{"http", "http://www.my.work.com/", parts{scheme: "http", host: "www.my.work.com"}},
		{"http", "http://www.my.uni.edu/info/matriculation/enroling.html",
			parts{scheme: "http", host: "www.my.uni.edu", urlPath: "info/matriculation/enroling.html"}},
		{"http", "http://info.my.org/AboutUs/Phonebook", parts{scheme: "http", host: "info.my.org", urlPath: "AboutUs/Phonebook"}},
		{"http", "http://www.library.my.town.va.us/Catalogue/76523471236%2Fwen44--4.98",
			parts{scheme: "http", host: "www.library.my.town.va.us", urlPath: "Catalogue/76523471236%2Fwen44--4.98"}},
		{"http", "http://info.my.org/AboutUs/Index/Phonebook?dobbins",
			parts{scheme: "http", host: "info.my.org", urlPath: "AboutUs/Index/Phonebook?dobbins"}},
		{"http", "http://www.my.org/462F4F2D4241522A314159265358979323846",
			parts{scheme: "http", host: "www.my.org", urlPath: "462F4F2D4241522A314159265358979323846"}},
		{"http", "http://info.cern.ch:8000/imaginary/test",
			parts{scheme: "http", host: "info.cern.ch", port: 8000, urlPath: "imaginary/test"}},
		{"http", "http://www.myu.edu/org/admin/people#andy",
			parts{scheme: "http", host: "www.myu.edu", urlPath: "org/admin/people", frag: "andy"}},
		{"urn", "urn:/iana/dns/ch/cern/cn/techdoc/94/1642-3",
			parts{scheme: "urn", urlPath: "/iana/dns/ch/cern/cn/techdoc/94/1642-3"}},
		{"BNF path", "x:", parts{scheme: "x"}},
		{"BNF path", "x:a", parts{scheme: "x", urlPath: "a"}},
		{"BNF path", "x:a/b/c", parts{scheme: "x", urlPath: "a/b/c"}},
		{"BNF search", "x:a?b+c", parts{scheme: "x", urlPath: "a?b+c"}},
		{"BNF fragmentaddress", "x:a?b#c", parts{scheme: "x", urlPath: "a?b", frag: "c"}},
		{"BNF xalpha", "x:aZ9$-_@.&!*'(),%4f", parts{scheme: "x", urlPath: "aZ9$-_@.&!*'(),%4f"}},
		{"BNF xpalpha", "x:a+b", parts{scheme: "x", urlPath: "a+b"}},
		{"BNF afsaddress", "afs://cell.name/path", parts{scheme: "afs", host: "cell.name", urlPath: "path"}},
		{"BNF login", "ftp://u-_.+1:p-_.+2@h:21/x", parts{"ftp", "h", 21, login("u-_.+1", "p-_.+2"), "x", ""}},
		{"BNF hostnumber", "x://10.1.2.3/", parts{scheme: "x", host: "10.1.2.3"}},
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
		})
	}
}

// "Unsafe characters", examples 1 to 3.
func TestRFC1630Encoding(t *testing.T) {
	t.Parallel()
	plain := MustParse("http://info.cern.ch/albert/bertram/marie-claude")
	hyphen := MustParse("http://info.cern.ch/albert/bertram/marie%2Dclaude")
	slash := MustParse("http://info.cern.ch/albert/bertram%2Fmarie-claude")
	if plain == hyphen || plain.Normalize() != hyphen.Normalize() {
		t.Error("example 1: an encoded hyphen must be another spelling of the same")
	}
	if plain.Normalize() == slash.Normalize() {
		t.Error("example 2: an encoded slash must not mean the same as a slash")
	}
	for _, s := range []string{
		"fxqn:/us/va/reston/cnri/ietf/24/asdf%*.fred",
		"news:12345667123%asdghfh@info.cern.ch",
		"http://info.cern.ch/RDB/EMP?*%20where%20name%%3Ddobbins",
	} {
		if u, err := Parse(s); !isURLError(err) {
			t.Errorf("example 3: %q is illegal, got %q, error %v", s, u, err)
		}
	}
}

// "Partial (relative) form". The table is the same for both bases.
func TestRFC1630PartialForm(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"magic://a/b/c//d/e/f", "magic://a/b/c//d/e/"} {
		for _, c := range []struct{ ref, want string }{
			{"g", "magic://a/b/c//d/e/g"},
			{"/g", "magic://a/g"},
			{"//g", "magic://g"},
			{"../g", "magic://a/b/c//d/g"},
			{"g:h", "g:h"},
			{"g:a", "g:a"},
		} {
			if got := MustParse(base).Resolve(MustParse(c.ref)); got.String() != c.want {
				t.Errorf("%s in %s: got %s, want %s", c.ref, base, got, c.want)
			}
		}
	}
	// "News": in an article, a reference to another article needs no scheme.
	article := MustParse("news:one@h")
	if got := article.Resolve(MustParse("two@h")).String(); got != "news:two@h" {
		t.Errorf("article in an article: got %s", got)
	}
	// "Gopher": partial forms are resolved as if the selector were a path.
	menu := MustParse("gopher://h/1/dir/menu")
	if got := menu.Resolve(MustParse("../other")).String(); got != "gopher://h/1/other" {
		t.Errorf("partial form in a menu: got %s", got)
	}
}

func TestRFC1630VoidFragment(t *testing.T) {
	t.Parallel()
	with, without := MustParse("http://h/x#"), MustParse("http://h/x")
	if with.String() != "http://h/x#" {
		t.Errorf("printed as %s", with)
	}
	if with == without || with.Normalize() != without.Normalize() {
		t.Error("a void fragment must be another spelling of the whole object")
	}
}

func TestRFC1630Schemes(t *testing.T) {
	t.Parallel()
	ftp := func(typ byte, form string) FTP {
		return FTP{Scheme: "ftp", Host: "h", Port: 21, Name: "x", Type: typ, Form: form}
	}
	testDecode(t, []decodeCase{
		{"ftp", "ftp://h/a/b/", FTP{Scheme: "ftp", Host: "h", Port: 21, CWD: []string{"a", "b"}}},
		{"ftp type", "ftp://h/x;type=AN", ftp('a', "N")},
		{"ftp type", "ftp://h/x;type=AT", ftp('a', "T")},
		{"ftp type", "ftp://h/x;type=AC", ftp('a', "C")},
		{"ftp type", "ftp://h/x;type=EN", ftp('e', "N")},
		{"ftp type", "ftp://h/x;type=et", ftp('e', "T")},
		{"ftp type", "ftp://h/x;type=EC", ftp('e', "C")},
		{"ftp type", "ftp://h/x;type=E", ftp('e', "")},
		{"ftp type", "ftp://h/x;type=I", ftp('i', "")},
		{"ftp type", "ftp://h/x;type=L8", ftp('l', "8")},
		{"ftp type", "ftp://h/x;type=L36", ftp('l', "36")},
		{"ftp type, with the space", "ftp://h/x;type=A%20N", ftp('a', "N")},
		{"ftp type, with the space", "ftp://h/x;type=L%208", ftp('l', "8")},
		{"ftp type", "ftp://h/x;type=AX", nil},
		{"ftp type", "ftp://h/x;type=A%20", nil},
		{"ftp type", "ftp://h/x;type=L", nil},
		{"ftp type", "ftp://h/x;type=L0", nil},
		{"ftp type", "ftp://h/x;type=L256", nil},
		{"ftp type", "ftp://h/x;type=IN", nil},

		{"gopher", "gopher://h/", Gopher{Scheme: "gopher", Host: "h", Port: 70, Type: '1'}},
		{"gopher", "gopher://h/11/x", Gopher{Scheme: "gopher", Host: "h", Port: 70, Type: '1', Selector: "1/x"}},

		{"news", "news:*", News{Scheme: "news", Group: "*"}},
		{"news", "news:alt.hypertext", News{Scheme: "news", Group: "alt.hypertext"}},
		{"news", "news:a.b@host", News{Scheme: "news", MessageID: "a.b@host"}},
		{"nntp without a host", "nntp:alt.hypertext/12", NNTP{Scheme: "nntp", Group: "alt.hypertext", Number: 12}},
		{"nntp without a host", "nntp:alt.hypertext", NNTP{Scheme: "nntp", Group: "alt.hypertext"}},

		{"telnet", "telnet://u:p@h:24", Parts{Scheme: "telnet", Host: "h", Port: 24, Login: login("u", "p"), Path: "/"}},
		{"rlogin", "rlogin://u@h", Parts{Scheme: "rlogin", Host: "h", Port: 513, Login: user("u"), Path: "/"}},
		{"tn3270", "tn3270://h", Parts{Scheme: "tn3270", Host: "h", Port: 23, Path: "/"}},

		{"wais index", "wais://h/db", WAIS{Host: "h", Port: 210, Database: "db"}},
		{"wais index", "wais://h/db?a+b%2Bc", WAIS{Host: "h", Port: 210, Database: "db", Search: "a b+c", HasSearch: true}},
		{"wais document", "wais://h/db/TEXT/1=h;2=a/b;3=%00%01;",
			WAIS{Host: "h", Port: 210, Database: "db", DocType: "TEXT", WPath: "1=h;2=a/b;3=%00%01;"}},

		{"file", "file://localhost/etc/passwd", File{Host: "localhost", Path: "/etc/passwd"}},
		{"file", "file:///etc/passwd", File{Path: "/etc/passwd"}},
		{"mid", "mid:a.b@host", MID{MessageID: "a.b@host"}},
		{"mid", "mid:a/b@host", MID{MessageID: "a/b@host"}},
		{"cid", "cid:a.b@host", CID{ContentID: "a.b@host"}},

		{"prospero", "prospero://h/name", Prospero{Host: "h", Port: 1525, HSOName: "name"}},
		{"prospero version", "prospero://h//a/b%0012",
			Prospero{Host: "h", Port: 1525, HSOName: "/a/b", Fields: []ProsperoField{{ObjectVersion, "12"}}}},
		{"prospero attributes", "prospero://h/a%0012xyz",
			Prospero{Host: "h", Port: 1525, HSOName: "a", Fields: []ProsperoField{{ObjectVersion, "12"}, {"xyz", ""}}}},
		{"prospero version", "prospero://h/a%00", nil},
		{"prospero version", "prospero://h/a%00x", nil},
		{"prospero version", "prospero://h/a%001%002", nil},
	})
}

// "BNF for specific URL schemes": prefixedurl.
func TestRFC1630Prefix(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"url:ftp://h/x", "URL:ftp://h/x", "Url: ftp://h/x"} {
		u, err := ParseLoose(s)
		if err != nil || u.String() != "ftp://h/x" {
			t.Errorf("%q: got %q, %v", s, u, err)
		}
	}
}

func TestWAISFields(t *testing.T) {
	t.Parallel()
	fields := []WAISField{{1, "h:210"}, {2, "a/b"}, {3, "\x00\x01;="}}
	for _, c := range []struct {
		wpath string
		want  []WAISField
		size  int64
	}{
		{"1=h%3A210;2=a/b;3=%00%01%3B%3D;", fields, -1},
		{"1=h%3A210;2=a/b;3=%00%01%3B%3D", fields, -1},
		{"4096/1=h%3A210;2=a/b;3=%00%01%3B%3D;", fields, 4096},
		{FormatWAISPath(fields, 7), fields, 7},
		{FormatWAISPath(fields, -1), fields, -1},
	} {
		got, size, ok := WAIS{WPath: c.wpath}.RawFields()
		if !ok || size != c.size || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, %d, %v", c.wpath, got, size, ok)
		}
	}
	for _, wpath := range []string{"", "%0a%00", "x=1;", "=1;", "1;", "1=a;b;", "/1=a;", "5/", "99999999999999999999/1=a;"} {
		if got, _, ok := (WAIS{WPath: wpath}).RawFields(); ok {
			t.Errorf("%q is not a sequence of fields, got %v", wpath, got)
		}
	}
	if got := (WAIS{WPath: "%0a%00x"}).RawDocID(); got != "\n\x00x" {
		t.Errorf("raw document identifier %q", got)
	}
}

func TestWAISLocalPath(t *testing.T) {
	for wpath, want := range map[string]string{
		"14/1=vm%3A27210;3=0%2014%20%2Ftmp%2Fm007.txt;7=%00;": "/tmp/m007.txt", "3=0%2014%20crlf%20pear.txt;": "crlf pear.txt",
		"3=doc%20x%20y;": "y", "3=a;3=b;": "a", "3=;": "", "3=0%209%20;": "", "1=a;": "", "%01%02": "", "": "",
	} {
		if got := (WAIS{WPath: wpath}).LocalPath(); got != want {
			t.Errorf("%s: %q, want %q", wpath, got, want)
		}
	}
}
