package uri

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// These forms come from later standards than RFC 1738.
func TestLaterForms(t *testing.T) {
	t.Parallel()
	testDecode(t, []decodeCase{
		{"RFC 5538 section 2.2", "news://h/comp.lang.c", News{Scheme: "news", Host: "h", Port: 119, Group: "comp.lang.c"}},
		{"RFC 5538 section 2.2", "news://h:1119/a@b", News{Scheme: "news", Host: "h", Port: 1119, MessageID: "a@b"}},
		{"RFC 5538 section 2.2", "news://u:p@h/*", News{Scheme: "news", Host: "h", Port: 119, Login: login("u", "p"), Group: "*"}},
		{"RFC 5538 section 2.2", "news://h/", News{Scheme: "news", Host: "h", Port: 119, Group: "*"}},
		{"RFC 5538 section 4", "news:", News{Scheme: "news", Group: "*"}},
		{"RFC 5538 section 4", "news:comp.*", News{Scheme: "news", Group: "comp.*"}},
		{"RFC 5538 section 4", "news:%3Ca@b%3E", News{Scheme: "news", MessageID: "a@b"}},
		{"RFC 5538 section 4", "news:a%40b", News{Scheme: "news", MessageID: "a@b"}},
		{"RFC 5538 section 4", "news:a%3E@b", nil},
		{"RFC 5538 section 4", "news://h/a.b/1", nil},
		{"RFC 5538 section 2.2", "news:///a.b", nil},
		{"snews", "snews://h/a.b", News{Scheme: "snews", Host: "h", Port: 563, Group: "a.b"}},
		{"nntps", "nntps://h/a.b/7", NNTP{Scheme: "nntps", Host: "h", Port: 563, Group: "a.b", Number: 7}},
		{"RFC 4248", "telnets://h:1/", Parts{Scheme: "telnets", Host: "h", Port: 1, Path: "/"}},

		{"RFC 2392 section 2", "mid:a@b/c@d", MID{MessageID: "a@b", ContentID: "c@d"}},
		{"RFC 2392 section 2", "mid:a%2Fb@c/d%2Fe@f", MID{MessageID: "a/b@c", ContentID: "d/e@f"}},
		{"RFC 2392 section 2", "mid:%3Ca@b%3E/%3Cc@d%3E", MID{MessageID: "a@b", ContentID: "c@d"}},
		{"RFC 2392 section 2", "mid:a%40b/c@d", MID{MessageID: "a@b/c@d"}},
		{"RFC 2392 section 2", "mid:", nil},
		{"RFC 2392 section 2", "mid:/c@d", MID{MessageID: "/c@d"}},
		{"RFC 2392 section 2", "mid://h/a@b", nil},
		{"RFC 2392 section 2", "cid:a%25b@c", CID{ContentID: "a%b@c"}},
		{"RFC 2392 section 2", "cid:", nil},
		{"RFC 2392 section 2", "cid:a%20b@c", nil},
		{"RFC 2392 section 2", "cid://h/a@b", nil},

		{"zone", "gopher://[fe80::1%25eth0]:71/0x",
			Gopher{Scheme: "gopher", Host: "fe80::1%eth0", Port: 71, Type: '0', Selector: "x"}},
	})
}

func TestDecodersRefuseOtherSchemes(t *testing.T) {
	t.Parallel()
	u := MustParse("x-other://h/1")
	for name, parse := range map[string]func(URI) error{
		"ftp":      func(u URI) error { _, err := ParseFTP(u); return err },
		"gopher":   func(u URI) error { _, err := ParseGopher(u); return err },
		"news":     func(u URI) error { _, err := ParseNews(u); return err },
		"nntp":     func(u URI) error { _, err := ParseNNTP(u); return err },
		"wais":     func(u URI) error { _, err := ParseWAIS(u); return err },
		"file":     func(u URI) error { _, err := ParseFile(u); return err },
		"prospero": func(u URI) error { _, err := ParseProspero(u); return err },
		"mid":      func(u URI) error { _, err := ParseMID(u); return err },
		"cid":      func(u URI) error { _, err := ParseCID(u); return err },
	} {
		if parse(u) == nil {
			t.Errorf("%s takes %s", name, u)
		}
	}
}

func TestEncodersFillInDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   encoder
		want string
	}{
		{FTP{Host: "h"}, "ftp://h/"},
		{FTP{Host: "h", Port: 2121, Login: Userinfo{Name: "u", Password: "p"}, CWD: []string{"/a", ""}, Name: "b;c", Type: 'l', Form: "8"},
			"ftp://u:p@h:2121/%2Fa//b%3Bc;type=L8"},
		{Gopher{Host: "h"}, "gopher://h/1"},
		{Gopher{Host: "h", Type: '0', Selector: "a", Plus: "+"}, "gopher://h/0a%09%09+"},
		{Gopher{Host: "h", Type: '7', Search: "x"}, "gopher://h/7%09x"},
		{News{Group: "a.b"}, "news:a.b"},
		{NNTP{Group: "a.b"}, "nntp:a.b"},
		{Parts{Scheme: "telnet", Host: "::1", Path: "/"}, "telnet://[::1]/"},
		{WAIS{Host: "h", Database: "d", Search: "x y"}, "wais://h/d?x+y"},
		{File{Path: "/a b"}, "file:///a%20b"},
		{Prospero{Host: "h", HSOName: "/a"}, "prospero://h//a"},
		{MID{MessageID: "a@b"}, "mid:a@b"},
		{CID{ContentID: "a/b@c"}, "cid:a%2Fb@c"},
		{FTP{Host: "h", CWD: []string{"*"}, Name: "a*"}, "ftp://h/%2A/a%2A"},
		{Parts{Scheme: "x", Host: "h"}, "x://h"},
		{Parts{Scheme: "x", Login: Userinfo{Name: "u:"}, Host: "fe80::1%eth0", Port: 8, Path: "/a", Query: "?b"}, "x://u%3A@[fe80::1%25eth0]:8/a?b"},
		{Parts{Scheme: "http", Host: "h", Port: 80, Path: "/"}, "http://h/"},
		{Parts{Scheme: "file", Path: "/"}, "file:///"},
	} {
		got, err := c.in.URI()
		if err != nil || got.String() != c.want {
			t.Errorf("%+v: got %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestEncodersRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     encoder
		reason string // substring of the error
	}{
		{FTP{Host: "a b"}, "space in the decoded host"},
		{FTP{Host: "h/x"}, "in the decoded host"},
		{FTP{}, "no host"},
		{FTP{Host: "h", Login: Userinfo{Name: "a\nb"}}, "user information"},
		{FTP{Host: "h", Type: 'x'}, "type code"},
		{FTP{Host: "h", Type: 'i', Form: "N"}, "type code"},
		{FTP{Host: "h", Form: "N"}, "type code"},
		{Gopher{Host: "h", Selector: "a\tb"}, "tab"},
		{Gopher{Host: "h", Search: "a\tb"}, "tab"},
		{Gopher{Host: "h", Type: '\t'}, "no gopher type"},
		{Gopher{Host: "h", Plus: "+\t1\r\n+-1\r\n.\r\n"}, "CR, LF or NUL"},
		{Gopher{Host: "h", Form: []string{"a", "."}}, "would end it"},
		{Gopher{Host: "h", Form: []string{"a\nb"}}, "CR, LF or NUL"},
		{WAIS{Host: "h", Database: "d", WPath: "a b"}, "must be encoded"},
		{WAIS{Host: "h", Database: "d", WPath: "a?b"}, "not encoded"},
		{WAIS{Host: "h", Database: "d", WPath: "a#b"}, "not encoded"},
		{WAIS{Host: "h", Database: "d", WPath: "a", HasSearch: true}, "search in a WAIS document"},
		{File{Path: "a"}, "leading slash"},
		{Prospero{Host: "h", HSOName: "/a\nb"}, "CR, LF or NUL"},
		{Prospero{Host: "h", HSOName: "/a\x00b"}, "CR, LF or NUL"},
		{News{Group: "a@b"}, "not a newsgroup"},
		{News{Group: "a/b"}, "not a newsgroup"},
		{News{MessageID: "a"}, "without @"},
		{News{Group: "a", MessageID: "b@c"}, "both"},
		{News{Group: "a", Port: 119}, "without a host"},
		{NNTP{Host: "h"}, "not a newsgroup"},
		{NNTP{Host: "h", Group: "a/1"}, "not a newsgroup"},
		{NNTP{Group: "a", Login: Userinfo{Name: "u"}}, "without a host"},
		{Parts{Scheme: "telnet", Path: "/"}, "no host"},
		{Prospero{Host: "h", HSOName: "a\x0012"}, "CR, LF or NUL"},
		{MID{ContentID: "a@b"}, "no message identifier"},
		{MID{MessageID: "a", ContentID: "b@c"}, "without @"},
		{CID{}, "no content identifier"},
		{Parts{Scheme: "a b", Host: "h"}, "scheme"},
		{Parts{Host: "h"}, "scheme"},
		{Parts{Scheme: "x", Host: "h", Path: "a"}, "not encoded"},
		{Parts{Scheme: "x", Host: "h", Path: "/a?b"}, "not encoded"},
		{Parts{Scheme: "x", Host: "h", Query: "b"}, "not encoded"},
	} {
		got, err := c.in.URI()
		var e *Error
		if !errors.As(err, &e) || !got.IsZero() {
			t.Errorf("%+v: got %q and error %v, want an *Error", c.in, got, err)
		} else if !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%+v: %v, want %q", c.in, err, c.reason)
		}
	}
	_, err := Gopher{Host: "h", Plus: "\n"}.URI()
	if !errors.Is(err, ErrControl) {
		t.Errorf("%v is not ErrControl", err)
	}
	_, err = FTP{Host: "h", Login: login("u", "secret"), Type: 'x'}.URI()
	if !strings.Contains(fmt.Sprint(err), "unknown FTP type code") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, want the type of transfer, and no password", err)
	}
}

func TestGopherRawForm(t *testing.T) {
	t.Parallel()
	g := Gopher{Form: []string{"one", ""}}
	if got, want := g.RawForm(), "\t1\r\n+-1\r\none\r\n\r\n.\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Gopher{}).RawForm(); got != "" {
		t.Errorf("no form gives %q", got)
	}
}

func TestIsLocalIsDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want bool
	}{
		{"no host", File{}.IsLocal(), true},
		{"localhost", File{Host: "localhost"}.IsLocal(), true},
		{"other host", File{Host: "h"}.IsLocal(), false},
		{"database", WAIS{Database: "d"}.IsDocument(), false},
		{"document", WAIS{Database: "d", DocType: "TEXT", WPath: "1"}.IsDocument(), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v", c.name, c.got)
		}
	}
}
