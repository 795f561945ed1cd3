package uri

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	t.Parallel()
	u := MustParse("http://h/a")
	if u != MustParse("http://h/"+"a") || u == MustParse("http://h/b") {
		t.Error("URIs must be equal if and only if they are written the same")
	}
	if got := MustParse("http://h/").Resolve(MustParse("a")); got != u {
		t.Error("a resolved URI must equal the same one parsed")
	}
	if !(URI{}).IsZero() || u.IsZero() || MustParse("") != (URI{}) {
		t.Error("the zero URI is the empty reference")
	}
	if size := reflect.TypeFor[URI]().Size(); size > 64 {
		t.Errorf("a URI takes %d bytes", size)
	}
}

func TestParseAllocations(t *testing.T) {
	for _, s := range []string{
		"http://www.example.com/a/b/c?d=e#f",
		"ftp://user:secret@ftp.example/%2Fetc/motd;type=a",
		"http://192.0.2.1:8080/",
		"http://[2001:DB8::1]:8080/",
		"HTTP://WWW.Example.COM/",
		"news:a/b?c=d@x.org",
		"../a/b",
	} {
		if n := testing.AllocsPerRun(100, func() { Parse(s) }); n > 2 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func TestMustParsePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if _, ok := recover().(*Error); !ok {
			t.Error("no panic with an *Error")
		}
	}()
	MustParse("a b")
}

// URLs that do not name a server have no host.
func TestOpaqueURLsHaveNoHost(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"news:a@b", "mailto:a@b", "mid:a@b", "x-unknown:a@b", "news:/a@b", "x:a//b@c"} {
		u := MustParse(s)
		if _, hasUser := u.User(); u.Host() != "" || hasUser || u.HasAuthority() {
			t.Errorf("%s: host %q", s, u.Host())
		}
	}
}

func TestURLPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"gopher://h/7/sel?x#y", "7/sel?x"},
		{"ftp://h//etc/motd", "/etc/motd"},
		{"ftp://h/", ""},
		{"ftp://h", ""},
		{"news:a/b?c=d@x.org#f", "a/b?c=d@x.org"},
		{"file:/etc/motd", "/etc/motd"},
	} {
		if got := MustParse(c.in).URLPath(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestLastSegment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"http://h/a/b%20c.txt?x/y#z", "b c.txt"},
		{"http://h/a/", ""},
		{"http://h", ""},
		{"http://h/%C3%BC", "ü"},
		{"http://h/a%2Fb", "a%2Fb"},
		{"http://h/a%0Ab", "a%0Ab"},
		{"http://h/a%00", "a%00"},
		{"http://h/a%7f", "a%7f"},
		{"http://h/%2e%2e", ".."},
		{"cid:a@b", "a@b"},
	} {
		if got := MustParse(c.in).LastSegment(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestHostPortAndOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in       string
		hostPort string
		origin   Origin
	}{
		{"HTTP://u@H/x", "h:80", Origin{"http", "h", 80}},
		{"http://h:8080", "h:8080", Origin{"http", "h", 8080}},
		{"http://[fe80::1%25eth0]/", "[fe80::1%eth0]:80", Origin{"http", "fe80::1%eth0", 80}},
		{"https://h:443", "h:443", Origin{"https", "h", 443}},
		{"https://h", "h:80", Origin{"https", "h", 443}},
		{"x://h", "h:80", Origin{"x", "h", 0}},
		{"x://h:8080", "h:8080", Origin{"x", "h", 8080}},
		{"news:a@b", ":80", Origin{"news", "", 119}},
	} {
		u := MustParse(c.in)
		if got := u.HostPort(80); got != c.hostPort {
			t.Errorf("%s: got %s, want %s", c.in, got, c.hostPort)
		}
		if got := u.Origin(); got != c.origin {
			t.Errorf("%s: got %v, want %v", c.in, got, c.origin)
		}
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	u := MustParse("ftp://joe:" + secret + "@h/a%0Ab;type=i")
	if got := u.Redacted(); got != "ftp://joe:xxxxx@h/a%0Ab;type=i" {
		t.Errorf("redacted as %s", got)
	}
	for _, s := range []string{"http:joe:s3cret@h/x@y", "sftp:joe:s3cret@h"} { // the slashes were forgotten
		if got, want := MustParse(s).Redacted(), strings.Replace(s, secret, "xxxxx", 1); got != want {
			t.Errorf("redacted as %s, want %s", got, want)
		}
	}
	for _, s := range []string{
		"ftp://joe:@h/", "ftp://joe@h/", "ftp://h/a:b@c", "mailto:a:b@c", "news:a:b@c", "data:,a:b@c", "urn:a:b@c",
		"http:/a:b@c", "http:a/b:c@d", "a:b@c", "/a:b@c",
	} {
		if got := MustParse(s).Redacted(); got != s {
			t.Errorf("%s has no password but is redacted as %s", s, got)
		}
	}
	_, decodeErr := ParseFTP(u)
	texts := []string{u.Redacted(), decodeErr.Error(), fmt.Sprintf("%v %+v", u.Userinfo(), FTP{Login: u.Userinfo()})}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("get", "url", u)
	texts = append(texts, log.String())
	for _, s := range []string{
		"ftp://joe:" + secret + "@h:x/",
		"ftp://joe:" + secret + "/more@h/",
		"ftp://joe:" + secret + "?more@h/",
		"ftp://joe:" + secret + "#more@h/",
		"ftp://joe:more@" + secret + "@h/",
		"ftp://joe:" + secret + " @h/",
		"ftp://joe:" + secret + "@h/ ",
		"<URL:ftp://joe:" + secret + "@[h/>",
	} {
		if _, err := Parse(s); err != nil {
			texts = append(texts, err.Error())
		} else {
			t.Errorf("%s: no error", s)
		}
		if _, err := ParseLoose(s); err != nil {
			texts = append(texts, err.Error())
		}
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			t.Errorf("the password is in %q", text)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	_, err := Parse("http://h/a\nb")
	if want := `malformed URL "http://h/a\nb": control character must be encoded at byte 10`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = ParseGopher(MustParse("http://h/"))
	if want := `malformed URL "http://h/": not a URL of scheme gopher`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestControlBytesMatchErrControl(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"ftp://h/a%0D", "ftp://h/%0Ab/c", "ftp://h/a;type=%00", "gopher://h/0%0A", "gopher://h/7a%09b%0D", "gopher://h/0a%09%09%00",
		"news:a%0A@b", "nntp://h/a%0D/1", "wais://h/a%00", "wais://h/a?b%0A", "wais://h/a/b%0A/c", "file:///a%0A",
		"prospero://h/a%0A", "prospero://h/a;b=%0A", "mid:a%00@b", "cid:a%0A@b",
	} {
		if v, err := decodeURL(MustParse(s)); !errors.Is(err, ErrControl) {
			t.Errorf("%s: got %+v, %v", s, v, err)
		}
	}
	if _, err := Parse("ftp://a%0A@h/"); !errors.Is(err, ErrControl) {
		t.Errorf("user name: %v", err)
	}
	if s, err := Unescape("a%0Db"); !errors.Is(err, ErrControl) {
		t.Errorf("Unescape: %q, %v", s, err)
	}
	if got := UnescapeRaw("a%0Db%"); got != "a\rb%" {
		t.Errorf("UnescapeRaw: %q", got)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"aZ0-._~!$'()*,", "aZ0-._~!$'()*,"},
		{"a/b;c?d:e@f=g&h+i#j%k", "a%2Fb%3Bc%3Fd%3Ae%40f%3Dg%26h%2Bi%23j%25k"},
		{" \n\x00\x7f\xff", "%20%0A%00%7F%FF"},
		{"ü", "%C3%BC"},
	} {
		got := Escape(c.in)
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		if back := UnescapeRaw(got); back != c.in {
			t.Errorf("%q comes back as %q", c.in, back)
		}
	}
	if s, err := Unescape("a%2Fb"); err != nil || s != "a/b" {
		t.Errorf("Unescape: %q, %v", s, err)
	}
	if s, err := Unescape("a%4"); !isURLError(err) {
		t.Errorf("incomplete escape gives %q, error %v", s, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	type doc struct{ U URI }
	in := doc{MustParse("ftp://u:p@h/%2Fetc")}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out doc
	if err := json.Unmarshal(data, &out); err != nil || out != in {
		t.Errorf("%s gives %v, %v", data, out, err)
	}
	if err := json.Unmarshal([]byte(`{"U":"a b"}`), &out); !isURLError(err) || out != in {
		t.Errorf("malformed text: %v, %v", out, err)
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	full := MustParse("ftp://u:p@H:2121/a?b#c")
	for _, c := range []struct {
		name string
		got  URI
		want string
	}{
		{"user", Must(full.WithUser("x y@z")), "ftp://x%20y%40z@H:2121/a?b#c"},
		{"user where there was none", Must(MustParse("ftp://h").WithUser("u")), "ftp://u@h"},
		{"empty user", Must(MustParse("ftp://h").WithUser("")), "ftp://@h"},
		{"without the port", full.WithoutPort(2121), "ftp://u:p@H/a?b#c"},
		{"without another port", full.WithoutPort(21), full.String()},
		{"without a port where there was none", MustParse("x://h/a").WithoutPort(0), "x://h/a"},
		{"without the port of an address", MustParse("//[::1]:8/").WithoutPort(8), "//[::1]/"},
		{"with the user of another", MustParse("ftp://x@H:21/a?b").WithUserinfoOf(MustParse("//u%40:p:q@h/x")), "ftp://u%40:p:q@H:21/a?b"},
		{"with no user from another", MustParse("ftp://x@h/").WithUserinfoOf(MustParse("ftp://h/")), "ftp://x@h/"},
		{"with the login of the same site", MustParse("http://h:80/a").WithLoginOf(MustParse("http://u:p@h/x")), "http://u:p@h:80/a"},
		{"with the login of plaintext over TLS", MustParse("https://h/a").WithLoginOf(MustParse("http://u:p@h/x")), "https://u:p@h/a"},
		{"without the login of TLS in plaintext", MustParse("http://h/a").WithLoginOf(MustParse("https://u:p@h/x")), "http://h/a"},
		{"without the login of another site", MustParse("https://h2/a").WithLoginOf(MustParse("https://u:p@h/x")), "https://h2/a"},
		{"with a user and no place for it", MustParse("mailto:a").WithUserinfoOf(full), "mailto:a"},
		{"without user", full.WithoutUserinfo(), "ftp://H:2121/a?b#c"},
		{"without user in a relative reference", MustParse("//u@h/x").WithoutUserinfo(), "//h/x"},
		{"without user where there was none", MustParse("mailto:a@b").WithoutUserinfo(), "mailto:a@b"},
		{"without fragment", full.WithoutFragment(), "ftp://u:p@H:2121/a?b"},
		{"without fragment where there was none", MustParse("a").WithoutFragment(), "a"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestWithUserRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, name string }{
		{"mailto:a@b", "u"},
		{"ftp://h/", "a\nb"},
	} {
		var e *Error
		if got, err := MustParse(c.in).WithUser(c.name); !errors.As(err, &e) || !got.IsZero() {
			t.Errorf("%s with user %q: got %s, %v", c.in, c.name, got, err)
		}
	}
}

func TestWithSearch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, words, want string }{
		{"gopher://h/7/index", "two words", "gopher://h/7/index%09two%20words"},
		{"gopher://h/7/index?x%09old%09+", "a+b?", "gopher://h/7/index?x%09a+b%3F%09+"},
		{"gopher://h/2", "name", "gopher://h/2%09name"},
		{"wais://h/db", "two words+", "wais://h/db?two+words%2B"},
		{"wais://h/db?old", "new", "wais://h/db?new"},
		{"z39.50s://h/db", "two words;", "z39.50s://h/db?two+words%3B"},
		{"z39.50s://h/db;rs=xml", "new", "z39.50s://h/db?new;rs=xml"},
		{"z39.50s://h/a+b?old;esn=F;item=3;rs=xml", "new", "z39.50s://h/a+b?new;esn=F;rs=xml"},
		{"http://h/index?old#f", "a b&c", "http://h/index?a+b%26c#f"},
		{"https://h", "a", "https://h?a"},
		{"dict://h/d:old", "two words", "dict://h/d:two%20words"},
		{"dict://h/m:old:db:prefix", "new", "dict://h/m:new:db:prefix"},
	} {
		got, err := MustParse(c.in).WithSearch(c.words)
		if err != nil || got.String() != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ in, words string }{
		{"gopher://h/0/text", "a"},
		{"dict://h/", "a"},
		{"gopher://h/7a%0A", "a"},
		{"gopher://h/7", "a\tb"},
		{"gopher://h/7", "a\r\nb"},
		{"wais://h/db/TEXT/1", "a"},
		{"wais:", "a"},
		{"z39.50s://h/", "a"},
		{"z39.50r://h/db?x", "a"},
		{"ftp://h/", "a"},
		{"dict://h/", "a"},
		{"http://h/", "a\x00"},
		{"index", "a"},
	} {
		if got, err := MustParse(c.in).WithSearch(c.words); !isURLError(err) {
			t.Errorf("%s: %q gives %s, error %v", c.in, c.words, got, err)
		}
	}
}

func TestNetURLSendsTheBytesAsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, host, target string }{
		{"http://h", "h", "/"},
		{"http://H:80/a?", "h:80", "/a?"},
		{"http://h/a%2fb/%7e/../c;d?e=%zz&f#g", "h", ""},
		{"http://h/a%2fb/%7e/../c;d?e=%7a&f=[]#g", "h", "/a%2fb/%7e/../c;d?e=%7a&f=[]"},
		{"http://h//a", "h", "//a"},
		{"http://h/a[1]'()!*,~", "h", "/a[1]'()!*,~"},
		{"http://h/a|b?c|d", "h", "/a|b?c|d"},
		{"https://h:8/a|%7Cb|?", "h:8", "/a|%7Cb|?"},
		{"http://h//a%2Fb|c/*?d|e", "h", "//a%2Fb%7Cc/*?d|e"},
		{"http://h/%41%0d%0a", "h", "/%41%0d%0a"},
		{"https://[fe80::1%25eth0]:8/", "[fe80::1]:8", "/"},
		{"http://bücher.example/", "xn--bcher-kva.example", "/"},
	} {
		u, err := Parse(c.in)
		if err != nil {
			if c.target != "" {
				t.Error(err)
			}
			continue
		}
		n, err := u.NetURL()
		if err != nil {
			t.Error(err)
			continue
		}
		req, err := http.NewRequest("GET", "http://placeholder/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL, req.Host = n, ""
		var wire bytes.Buffer
		if err := req.Write(&wire); err != nil {
			t.Error(err)
			continue
		}
		if want := "GET " + c.target + " HTTP/1.1\r\nHost: " + c.host + "\r\n"; !strings.HasPrefix(wire.String(), want) {
			t.Errorf("%s: sent %q, want %q", c.in, wire.String(), want)
		}
	}
	n, err := MustParse("http://u%40:p%3A@h/").NetURL()
	if err != nil || n.User.String() != "u%40:p%3A" {
		t.Errorf("login: %v, %v", n, err)
	}
	for _, s := range []string{"ftp://h/", "http:x", "http:///x", "//h/", ""} {
		if n, err := MustParse(s).NetURL(); !isURLError(err) {
			t.Errorf("%q: got %v, error %v", s, n, err)
		}
	}
}

func isURLError(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

func TestIsDirectory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"http://h": true, "http://h/": true, "http://h/a/": true, "http://h/a/?q": true, "http://h?q=/": true,
		"http://h/a": false, "http://h/a?q=/": false, "http://h/a#/": false,
	} {
		if got := MustParse(text).IsDirectory(); got != want {
			t.Errorf("IsDirectory of %s is %v", text, got)
		}
	}
}
