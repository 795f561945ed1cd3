package cookies

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/publicsuffix"
)

func at(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// set passes a Set-Cookie field to the jar.
func set(t testing.TB, j http.CookieJar, raw, value string) {
	t.Helper()
	j.SetCookies(at(t, raw), Parse(http.Header{"Set-Cookie": {value}}))
}

// sent returns the Cookie field of a request for raw.
func sent(t testing.TB, j http.CookieJar, raw string) string {
	t.Helper()
	header := make(http.Header)
	Add(header, j.Cookies(at(t, raw)))
	return header.Get("Cookie")
}

func TestCookies(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, cookie, to, want string }{
		{"http://h.example/a/b", "n=v", "http://h.example/a/c", "n=v"},
		{"http://h.example/a/b", "n=v", "http://h.example/ab", ""},
		{"http://h.example/a/b", "n=v; Path=/", "http://h.example/", "n=v"},
		{"http://h.example/", "n=v", "http://sub.h.example/", ""},
		{"http://h.example/", "n=v; Domain=h.example", "http://sub.h.example/", "n=v"},
		{"http://h.example:8080/", "n=v", "http://h.example:9090/", "n=v"},
		{"http://H.example/", "n=v; Domain=.H.EXAMPLE", "http://sub.h.example/", "n=v"},
		{"http://a.h.example/", "n=v; Domain=h.example", "http://h.example/", "n=v"},
		{"http://h.example/", "n=v; Domain=other.example", "http://other.example/", ""},
		{"http://h.co.uk/", "n=v; Domain=co.uk", "http://other.co.uk/", ""},
		{"http://h.co.uk/", "n=v; Domain=uk", "http://h.co.uk/", ""},
		{"http://co.uk/", "n=v; Domain=co.uk", "http://co.uk/", "n=v"},
		{"http://co.uk/", "n=v; Domain=co.uk", "http://h.co.uk/", ""},
		{"http://127.0.0.1/", "n=v", "http://127.0.0.1/", "n=v"},
		{"http://127.0.0.1/", "n=v; Domain=127.0.0.1", "http://127.0.0.1/", "n=v"},
		{"http://127.0.0.1/", "n=v; Domain=0.0.1", "http://127.0.0.1/", ""},
		{"http://[::1]/", "n=v", "http://[::1]/", "n=v"},
		{"http://localhost/", "n=v", "http://localhost/", "n=v"},
		{"https://h.example/", "n=v; Secure", "http://h.example/", ""},
		{"https://h.example/", "n=v; Secure", "https://h.example/", "n=v"},
		{"http://h.example/", "n=v; Secure", "https://h.example/", ""},
		{"https://h.example/", "__Secure-n=v", "https://h.example/", ""},
		{"https://h.example/", "__Secure-n=v; Secure", "https://h.example/", "__Secure-n=v"},
		{"https://h.example/", "__SeCuRe-n=v", "https://h.example/", ""},
		{"http://h.example/", "__host-n=v; Path=/; Domain=h.example", "http://h.example/", ""},
		{"https://h.example/", "__Host-n=v; Secure; Path=/", "https://h.example/", "__Host-n=v"},
		{"https://h.example/", "__Host-n=v; Secure; Path=/; Domain=h.example", "https://h.example/", ""},
		{"https://h.example/x/", "__Host-n=v; Secure", "https://h.example/x/", ""},
		{"https://h.example/", "__Host-n=v; Secure", "https://h.example/", ""},
		{"http://h.example/", "n=v; Max-Age=0", "http://h.example/", ""},
		{"http://h.example/", "n=v; Max-Age=100", "http://h.example/", "n=v"},
		{"http://h.example/", "n=v; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://h.example/", ""},
		{"http://h.example/", "n=v; Expires=Thu Jan  1 00:00:00 1970", "http://h.example/", ""},
		{"https://h.example/", "n=v; Secure =1", "http://h.example/", ""},
		{"http://h.example/", "n=v; Path =/book", "http://h.example/", ""},
		{"http://h.example/", "n=v; Path=  /x", "http://h.example/", ""},
		{"http://h.example/", "n=v; Path=  /x", "http://h.example/x", "n=v"},
		{"http://h.example/", `n=v; Domain="h.example"`, "http://h.example/", ""},
		{"http://h.example/", `n="a, b"`, "http://h.example/", `n="a, b"`},
		{"http://h.example/", "n=a\tb", "http://h.example/", ""},
		{"http://h.example/", "n=v; Path=/a\tb", "http://h.example/", ""},
		{"http://h.example/", "n=" + strings.Repeat("v", maxCookie), "http://h.example/", ""},
		{"http://h.example/", "n=v; Path=/" + strings.Repeat("p", maxPath), "http://h.example/" + strings.Repeat("p", maxPath), ""},
	}
	for _, tt := range tests {
		j := New()
		set(t, j, tt.from, tt.cookie)
		if got := sent(t, j, tt.to); got != tt.want {
			t.Errorf("%s sets %.40s, %.60s gets %q, want %q", tt.from, tt.cookie, tt.to, got, tt.want)
		}
	}
}

func TestReplacedAndExpiredCookies(t *testing.T) {
	t.Parallel()
	j := New()
	now := time.Unix(1_800_000_000, 0)
	j.now = func() time.Time { return now }
	set(t, j, "http://h.example/", "a=1")
	set(t, j, "http://h.example/dir/x", "b=2")
	set(t, j, "http://h.example/", "c=3; Max-Age=10")
	set(t, j, "http://h.example/", "a=4")
	if got := sent(t, j, "http://h.example/dir/x"); got != "b=2; a=4; c=3" {
		t.Errorf("in the order %q", got)
	}
	now = now.Add(10 * time.Second)
	if got := sent(t, j, "http://h.example/"); got != "a=4" {
		t.Errorf("after its time: %q", got)
	}
	set(t, j, "http://h.example/", "a=; Max-Age=0")
	if got := sent(t, j, "http://h.example/"); got != "" {
		t.Errorf("after it was taken away: %q", got)
	}
	set(t, j, "http://h.example/", "far=1; Max-Age=999999999999")
	now = now.Add(maxAge)
	if got := sent(t, j, "http://h.example/"); got != "" {
		t.Errorf("after more than a year: %q", got)
	}
	for _, age := range []string{"999999999999", "99999999999999999999"} {
		set(t, j, "http://h.example/", "long=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age="+age)
		if got := sent(t, j, "http://h.example/"); got != "long=1" {
			t.Errorf("with Max-Age %s: %q", age, got)
		}
		set(t, j, "http://h.example/", "long=1; Max-Age=-"+age)
		if got := sent(t, j, "http://h.example/"); got != "" {
			t.Errorf("with Max-Age -%s: %q", age, got)
		}
	}
	// A response without TLS cannot replace a cookie that was received over TLS.
	set(t, j, "https://h.example/", "s=1; Secure; Domain=h.example")
	set(t, j, "http://h.example/", "s=2")
	set(t, j, "http://sub.h.example/", "s=3; Domain=h.example")
	if got := sent(t, j, "https://h.example/"); got != "s=1" {
		t.Errorf("replaced without TLS: %q", got)
	}
}

func TestJarIsBounded(t *testing.T) {
	t.Parallel()
	j := New()
	for i := range maxOfSite + 5 {
		set(t, j, fmt.Sprintf("http://h%d.site.example/", i), "n=v; Domain=site.example")
		set(t, j, "http://www.site.example/", fmt.Sprintf("n%d=v", i))
	}
	if n := len(j.sites["site.example"]); n != maxOfSite || j.count != n {
		t.Errorf("%d cookies of a site, %d in all", n, j.count)
	}
	for i := range maxCookies {
		set(t, j, fmt.Sprintf("http://site%d.example/", i), "n=v")
	}
	if j.count != maxCookies || len(j.sites) > maxCookies {
		t.Errorf("%d cookies of %d sites", j.count, len(j.sites))
	}
	if sent(t, j, fmt.Sprintf("http://site%d.example/", maxCookies-1)) == "" {
		t.Error("the newest one gave way")
	}
}

// The dates are from RFC 6265, section 5.1.1, and from what servers and scripts send.
func TestExpires(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01 00:00:00"},
		{"Thu Jan  1 00:00:00 GMT 1970", "1970-01-01 00:00:00"},
		{"Thu Jan  1 00:00:00 1970", "1970-01-01 00:00:00"},
		{"Thu, 1-Jan-70 00:00:00 GMT", "1970-01-01 00:00:00"},
		{"Thursday, 01-Jan-1970 00:00:00 GMT", "1970-01-01 00:00:00"},
		{"1 Jan 1970 00:00:00", "1970-01-01 00:00:00"},
		{"Thu Jan 01 1970 00:00:00 GMT+0000", "1970-01-01 00:00:00"},
		{"Sun Feb  2 03:04:05 GMT 2020", "2020-02-02 03:04:05"},
		{"Wed Dec 12 2007 08:44:07 GMT-0500 (EST)", "2007-12-12 08:44:07"},
		{"Thu, 31 Dec 23:55:55 2037 GMT", "2037-12-31 23:55:55"},
		{"Wednesday, 01-Jan-10 0:0:2 GMT", "2010-01-01 00:00:02"},
		{"1 JANUARY 69 1:2:3pm", "2069-01-01 01:02:03"},
		{"1999 31 dec 12:00:00", "1999-12-31 12:00:00"},
		{"29 Feb 2024 00:00:00", "2024-02-29 00:00:00"},
		{"29 Feb 2023 00:00:00", ""},
		{"Mon, 01-Jan-2011 00: 00:00 GMT", ""},
		{"1 Jan 2020 24:00:00", ""},
		{"1 Jan 2020 23:60:00", ""},
		{"1 Jan 2020 23:59:60", ""},
		{"1 Jan 2020 100:00:00", ""},
		{"32 Jan 2020 00:00:00", ""},
		{"0 Jan 2020 00:00:00", ""},
		{"1 Jan 1600 00:00:00", ""},
		{"1 Jan 20200 00:00:00", ""},
		{"1 Jan 2020", ""},
		{"1 2020 00:00:00", ""},
		{"Jan 2020 00:00:00", ""},
		{"1 Jan 00:00:00", ""},
		{"0", ""},
		{"", ""},
	}
	for _, tt := range tests {
		c := Parse(http.Header{"Set-Cookie": {"n=v; Expires=" + tt.text}})[0]
		got := ""
		if !c.Expires.IsZero() {
			got = c.Expires.Format(time.DateTime)
		}
		if got != tt.want || (got != "") != (c.RawExpires != "") {
			t.Errorf("%s: %q, raw %q, want %q", tt.text, got, c.RawExpires, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	epoch := time.Unix(0, 0).UTC()
	tests := []struct {
		field string
		want  *http.Cookie
	}{
		{"n=v", &http.Cookie{Name: "n", Value: "v"}},
		{" \tn =\t v ;", &http.Cookie{Name: "n", Value: "v"}},
		{"n==v=", &http.Cookie{Name: "n", Value: "=v="}},
		{"n=", &http.Cookie{Name: "n"}},
		{`n="a, b"`, &http.Cookie{Name: "n", Value: "a, b", Quoted: true}},
		{`n="a;b"`, &http.Cookie{Name: "n", Value: `"a`, Unparsed: []string{`b"=`}}},
		{`a b{}=☃`, &http.Cookie{Name: "a b{}", Value: "☃"}},
		{"n=v; Secure =x; Path =/a ; Domain= .H ; HTTPONLY; Partitioned;; ; =x",
			&http.Cookie{Name: "n", Value: "v", Secure: true, Path: "/a", Domain: ".H", HttpOnly: true, Partitioned: true}},
		{`n=v; "Secure"; Domain="h"; Secure x`, &http.Cookie{Name: "n", Value: "v", Domain: `"h"`, Unparsed: []string{`"Secure"=`, "Secure x="}}},
		{"n=v; Domain=a; Domain=b; Domain=; Path=/a; Path=", &http.Cookie{Name: "n", Value: "v", Domain: "b"}},
		{"n=v; SameSite=LAX", &http.Cookie{Name: "n", Value: "v", SameSite: http.SameSiteLaxMode}},
		{"n=v; SameSite=Strict", &http.Cookie{Name: "n", Value: "v", SameSite: http.SameSiteStrictMode}},
		{"n=v; SameSite=None", &http.Cookie{Name: "n", Value: "v", SameSite: http.SameSiteNoneMode}},
		{"n=v; SameSite", &http.Cookie{Name: "n", Value: "v", SameSite: http.SameSiteDefaultMode}},
		{"n=v; Max-Age=5; Max-Age=+6; Max-Age=7s; Max-Age=-; Max-Age=", &http.Cookie{Name: "n", Value: "v", MaxAge: 5}},
		{"n=v; Max-Age=5; Max-Age=0", &http.Cookie{Name: "n", Value: "v", MaxAge: -1}},
		{"n=v; Max-Age=-99999999999999999999", &http.Cookie{Name: "n", Value: "v", MaxAge: -1}},
		{"n=v; Max-Age=99999999999999999999", &http.Cookie{Name: "n", Value: "v", MaxAge: 1<<31 - 1}},
		{"n=v; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Expires=soon",
			&http.Cookie{Name: "n", Value: "v", Expires: epoch, RawExpires: "Thu, 01 Jan 1970 00:00:00 GMT"}},
		{"", nil},
		{"n", nil},
		{"n; a=b", nil},
		{"=v", nil},
		{" =v", nil},
		{"n=\x01", nil},
		{"n=v; Path=/\x7f", nil},
	}
	for _, tt := range tests {
		var want []*http.Cookie
		if tt.want != nil {
			tt.want.Raw = tt.field
			want = append(want, tt.want)
		}
		if got := Parse(http.Header{"Set-Cookie": {tt.field}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", tt.field, got, want)
		}
	}
	if got := Parse(http.Header{"Set-Cookie": {"a=1", "bad", "b=2"}}); len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Errorf("three fields: %v", got)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	header := make(http.Header)
	Add(header, nil)
	Add(header, []*http.Cookie{{Name: "a\n"}})
	if len(header) != 0 {
		t.Errorf("without cookies: %v", header)
	}
	Add(header, []*http.Cookie{{Name: "a", Value: "é, \"x"}, {Name: "b", Value: "q", Quoted: true}, {Name: "c", Value: "x\r\ny"},
		{Name: "d;e", Value: "v"}, {Name: "f", Value: "v;g=h"}, {Name: "i=j", Value: "v"}, {Value: "v"}})
	Add(header, []*http.Cookie{{Name: "z"}})
	if got, want := header.Get("Cookie"), `a=é, "x; b="q"; z=`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLikeTheStandardJar compares with net/http/cookiejar, which has the same rules except those on
// protected cookies.
func TestLikeTheStandardJar(t *testing.T) {
	t.Parallel()
	hosts := []string{"example.com", "a.example.com", "b.a.example.com", "example.co.uk", "co.uk", "com", "x.github.io", "github.io", "127.0.0.1", "localhost", "a.localhost"}
	paths := []string{"", "/", "/a", "/a/", "/a/b", "/ab"}
	for _, host := range hosts {
		for _, domain := range append([]string{"", ".com", "ample.com", ".", ".example.com."}, hosts...) {
			for _, path := range paths {
				own := New()
				std, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
				from := at(t, "http://"+host+"/a/b/c")
				for _, j := range []http.CookieJar{own, std} {
					j.SetCookies(from, []*http.Cookie{{Name: "n", Value: "v", Domain: domain, Path: path}, {Name: "m", Value: "w", Path: "/"}})
				}
				for _, to := range hosts {
					for _, below := range paths {
						raw := "https://" + to + below
						if got, want := sent(t, own, raw), sent(t, std, raw); got != want {
							t.Errorf("%s sets for %q and %q: %s gets %q, want %q", host, domain, path, raw, got, want)
						}
					}
				}
			}
		}
	}
}

const file = `# Netscape HTTP Cookie File
# a comment

.example.com	TRUE	/	FALSE	4000000000	n	v
#HttpOnly_www.example.com	FALSE	/a	TRUE	4000000000.5	h	o=p q
example.org	TRUE	/	FALSE	0	session	s
.example.net	TRUE	/	FALSE	1	old	x
.co.uk	TRUE	/	FALSE	0	suffix	x
no.value.example	FALSE	/	FALSE	0	empty
values.example	FALSE	/	FALSE	0	json	{"a":"é, b"}
values.example	FALSE	/	FALSE	0	quoted	"q"
values.example	FALSE	/	FALSE	0	a;b	x
values.example	FALSE	/	FALSE	0	c	x;y
.127.0.0.1	TRUE	/	FALSE	0	address	x
`

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "cookies.txt")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(file, "\n", "\r\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	j := New()
	if err := j.Read(strings.NewReader("\ufeffmark.example\tFALSE\t/\tFALSE\t4000000000\tn\tv")); err != nil {
		t.Errorf("a byte order mark: %v", err)
	}
	if err := j.Load(path); err != nil || j.Changed() {
		t.Fatalf("%v, changed %v", err, j.Changed())
	}
	for raw, want := range map[string]string{
		"https://www.example.com/a": "h=o=p q; n=v", "http://www.example.com/a": "n=v", "https://sub.www.example.com/a": "n=v",
		"http://a.example.org/": "session=s", "http://example.net/": "", "http://x.co.uk/": "", "http://no.value.example/": "empty=", "http://127.0.0.1/": "address=x",
		"http://values.example/": `json={"a":"é, b"}; quoted="q"`, "http://mark.example/": "n=v",
	} {
		if got := sent(t, j, raw); got != want {
			t.Errorf("%s gets %q, want %q", raw, got, want)
		}
	}
	set(t, j, "http://new.example/", "x=y; Max-Age=1000")
	set(t, j, "http://new.example/", "session=x")
	set(t, j, "http://values.example/", "quoted=renewed")
	if !j.Changed() {
		t.Error("nothing to save")
	}
	for _, session := range []bool{false, true} {
		if err := j.Save(path, session); err != nil || j.Changed() {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		again := New()
		if err := again.Load(path); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "x=y", true: "x=y; session=x"}[session]
		if got := sent(t, again, "http://new.example/"); got != want {
			t.Errorf("saved %q, want %q", got, want)
		}
		if got := sent(t, again, "http://example.org/"); got != "session=s" {
			t.Errorf("a session cookie of the file: %q", got)
		}
		if got, want := sent(t, again, "http://values.example/"), sent(t, j, "http://values.example/"); got != want {
			t.Errorf("saved %q, want %q", got, want)
		}
		if got := sent(t, again, "https://www.example.com/a"); got != "h=o=p q; n=v" {
			t.Errorf("saved %q", got)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("left behind: %q, %v", names, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err == nil {
		if err := j.Save(link, false); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
			t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
		}
	}
	if err := j.Save(dir, false); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("saved as a directory: %v", err)
	}
	if err := New().Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// badLines are not cookies. Their texts must not be part of errors.
var badLines = []string{
	"<html>", "example.com TRUE / FALSE 0 n hunter2", ".example.com\tTRUE\t/\tFALSE\tsoon\tn\thunter2",
	".example.com\tTRUE\t/\tFALSE\tNaN\tn\thunter2", "\tTRUE\t/\tFALSE\t0\tn\thunter2", ".example.com\tTRUE\tx\tFALSE\t0\tn\thunter2",
	".example.com\tTRUE\t/\tFALSE\t0\t\thunter2", ".example.com\t\tTRUE\t/\tFALSE\t0\tn\thunter2",
}

func TestBadLinesAreSkipped(t *testing.T) {
	t.Parallel()
	for _, bad := range badLines {
		j := New()
		err := j.Read(strings.NewReader("a.example\tFALSE\t/\tFALSE\t0\ta\t1\n" + bad + "\nb.example\tFALSE\t/\tFALSE\t0\tb\t2\n"))
		var skipped *SkipError
		if !errors.As(err, &skipped) || skipped.Lines != 1 || !strings.HasPrefix(err.Error(), "line 2: ") || !strings.HasSuffix(err.Error(), "; 1 line was skipped") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
		if got := sent(t, j, "http://a.example/") + " " + sent(t, j, "http://b.example/"); got != "a=1 b=2" {
			t.Errorf("%q: read %q", bad, got)
		}
	}
	path := filepath.Join(t.TempDir(), "cookies.txt")
	lines := "# a comment\n" + strings.Join(badLines, "\n") + "\na.example\tFALSE\t/\tFALSE\t0\ta\t1\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	j := New()
	err := j.Load(path)
	if want := path + ": line 2: must have seven fields separated by tabs; 8 lines were skipped"; err == nil || err.Error() != want || j.Changed() {
		t.Errorf("%v, changed %v, want %s", err, j.Changed(), want)
	}
	if got := sent(t, j, "http://a.example/"); got != "a=1" {
		t.Errorf("loaded %q", got)
	}
}

// A file without a cookie is an error, so that a file of another kind is not replaced at the end.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, bad := range badLines {
		err := New().Read(strings.NewReader("# a comment\n" + bad + "\n" + bad))
		var wrong *lineError
		var skipped *SkipError
		if !errors.As(err, &wrong) || wrong.line != 2 || errors.As(err, &skipped) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := New().Read(strings.NewReader(strings.Repeat("x", maxLine+1))); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("a line without end: %v", err)
	}
}

// Cookies that a server could not have set are not loaded from a file either.
func TestPrefixesInFiles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"h.example\tFALSE\t/\tTRUE\t0\t__Secure-n\tv":   "__Secure-n=v",
		".h.example\tTRUE\t/a\tTRUE\t0\t__Secure-n\tv":  "__Secure-n=v",
		"h.example\tFALSE\t/\tFALSE\t0\t__Secure-n\tv":  "",
		"h.example\tFALSE\t/\tFALSE\t0\t__sEcure-n\tv":  "",
		"h.example\tFALSE\t/\tTRUE\t0\t__Host-n\tv":     "__Host-n=v",
		"h.example\tFALSE\t/\tFALSE\t0\t__Host-n\tv":    "",
		"h.example\tFALSE\t/a\tTRUE\t0\t__Host-n\tv":    "",
		".h.example\tTRUE\t/\tTRUE\t0\t__HOST-n\tv":     "",
		"h.example\tFALSE\t/\tFALSE\t0\t__Secured-n\tv": "__Secured-n=v",
	} {
		j := New()
		if err := j.Read(strings.NewReader(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if got := sent(t, j, "https://h.example/a"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// FuzzRead checks that cookies from any file are the same after writing and reading, one per line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("example.com\tFALSE\t/\tFALSE\t-1e99\tn\tv"))
	f.Add([]byte("..\tTRUE\t/\tTRUE\t1e30\t__Host-n\t\"v\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := New()
		if j.Read(bytes.NewReader(data)) != nil {
			return
		}
		var first, second bytes.Buffer
		if err := j.Write(&first, true); err != nil {
			t.Fatal(err)
		}
		again := New()
		if err := again.Read(bytes.NewReader(first.Bytes())); err != nil {
			t.Fatalf("%q: %v", first.Bytes(), err)
		}
		if err := again.Write(&second, true); err != nil || !slices.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%q became %q, %v", first.Bytes(), second.Bytes(), err)
		}
		for _, c := range j.Cookies(&url.URL{Scheme: "https", Host: "www.example.com", Path: "/"}) {
			if strings.ContainsAny(c.Name+c.Value, "\r\n\x00") {
				t.Errorf("a cookie of two lines: %q", c)
			}
		}
	})
}

func TestReplaceRemovesFormerCookies(t *testing.T) {
	t.Parallel()
	j := New()
	set(t, j, "http://a.example/", "a=1")
	if err := j.Replace(strings.NewReader("not a cookie\n")); err == nil || sent(t, j, "http://a.example/") != "a=1" {
		t.Errorf("after an invalid file: error %v, cookies %q", err, sent(t, j, "http://a.example/"))
	}
	var skipped *SkipError
	if err := j.Replace(strings.NewReader("b.example\tFALSE\t/\tFALSE\t0\tb\t2\nrest\n")); !errors.As(err, &skipped) {
		t.Errorf("a file with an invalid line: %v", err)
	}
	if a, b := sent(t, j, "http://a.example/"), sent(t, j, "http://b.example/"); a != "" || b != "b=2" || j.count != 1 || !j.Changed() {
		t.Errorf("cookies %q and %q, count %d", a, b, j.count)
	}
	if err := j.Replace(strings.NewReader("")); err != nil || sent(t, j, "http://b.example/") != "" {
		t.Errorf("after an empty file: %v, cookies %q", err, sent(t, j, "http://b.example/"))
	}
}
