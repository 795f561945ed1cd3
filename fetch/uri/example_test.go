package uri_test

import (
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch/uri"
)

func ExampleParse() {
	u, err := uri.Parse("FTP://joe:secret@FTP.Example/%2Fetc/motd;type=a")
	if err != nil {
		fmt.Println(err)
		return
	}
	user, _ := u.User()
	fmt.Println(u.Scheme(), user, u.Host(), u.Port(21))
	fmt.Println(u.URLPath())
	fmt.Println(u.Redacted())
	// Output:
	// ftp joe ftp.example 21
	// %2Fetc/motd;type=a
	// FTP://joe:xxxxx@FTP.Example/%2Fetc/motd;type=a
}

func ExampleParse_error() {
	_, err := uri.Parse("http://example.com:99999/")
	fmt.Println(err)
	// Output:
	// malformed URL "http://example.com:99999/": port above 65535 at byte 19
}

func ExampleParseLoose() {
	for _, s := range []string{
		" <URL:ftp://ftp.example/pub/\n   file> ",
		"http://example.com/my file",
		"“http:/example.com/”",
		"www.example.com:8080/x",
	} {
		u, err := uri.ParseLoose(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u)
	}
	// Output:
	// ftp://ftp.example/pub/file
	// http://example.com/my%20file
	// http://example.com/
	// http://www.example.com:8080/x
}

func ExampleExtract() {
	const mail = `I found it under <URL:ftp://ftp.example/pub/doc;
type=d>, and there is more in <URL:http://www.example/#more>.`
	for u, err := range uri.Extract(mail) {
		fmt.Println(u, err)
	}
	// Output:
	// ftp://ftp.example/pub/doc;type=d <nil>
	// http://www.example/#more <nil>
}

func ExampleURI_Resolve() {
	base := uri.MustParse("http://example.com/a/b?q")
	for _, ref := range []string{"c", "../d", "?r", "//other.example/"} {
		fmt.Println(base.Resolve(uri.MustParse(ref)))
	}
	// Output:
	// http://example.com/a/c
	// http://example.com/d
	// http://example.com/a/b?r
	// http://other.example/
}

// JoinPath encodes each name by the rules of the scheme. The result is always below the base.
func ExampleURI_JoinPath() {
	for _, base := range []string{
		"http://www.example/docs/?q",
		"ftp://ftp.example/pub;type=d",
		"gopher://gopher.example",
		"file:///srv",
	} {
		u, err := uri.MustParse(base).JoinPath("a*b?", "c")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u)
	}
	_, err := uri.MustParse("ftp://ftp.example/pub/").JoinPath("../etc/passwd")
	fmt.Println(err)
	// Output:
	// http://www.example/docs/a*b%3F/c
	// ftp://ftp.example/pub/a%2Ab%3F/c
	// gopher://gopher.example/1/a*b%3F/c
	// file:///srv/a*b%3F/c
	// malformed URL "ftp://ftp.example/pub/": ".." in an added name
}

func ExampleNearestScheme() {
	known := []string{"ftp", "gopher", "http", "https"}
	for _, name := range []string{"htp", "htttps", "gohper", "gemini"} {
		fmt.Printf("%s: %q\n", name, uri.NearestScheme(name, known))
	}
	// Output:
	// htp: "http"
	// htttps: "https"
	// gohper: "gopher"
	// gemini: ""
}

// A driver for another scheme builds its URLs from their parts.
func ExampleParts() {
	u, err := uri.Parts{Scheme: "x-thing", Host: "::1", Port: 4711, Path: "/" + uri.Escape("a/b")}.URI()
	fmt.Println(u, err)
	// Output:
	// x-thing://[::1]:4711/a%2Fb <nil>
}

func ExampleURI_Normalize() {
	fmt.Println(uri.MustParse("HTTP://Example.COM:80/a/../%7euser/a%2fb").Normalize())
	fmt.Println(uri.MustParse("http://0x7f.1").Normalize())
	// Output:
	// http://example.com/~user/a%2Fb
	// http://127.0.0.1/
}

func ExampleURI_WithSearch() {
	index := uri.MustParse("gopher://gopher.example/7/index")
	u, err := index.WithSearch("two words")
	fmt.Println(u, err)
	// Output:
	// gopher://gopher.example/7/index%09two%20words <nil>
}

// An encoded slash is part of a directory name; an unencoded one separates names.
func ExampleParseFTP() {
	for _, s := range []string{
		"ftp://myname@host.dom/%2Fetc/motd",
		"ftp://myname@host.dom/etc/motd",
		"ftp://myname@host.dom//etc/motd;type=a",
	} {
		f, err := uri.ParseFTP(uri.MustParse(s))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q %s\n", f.CWD, f.Name)
	}
	// Output:
	// ["/etc"] motd
	// ["etc"] motd
	// ["" "etc"] motd
}

// Decoders refuse URLs with encoded bytes that would end a command line.
func ExampleParseGopher() {
	_, err := uri.ParseGopher(uri.MustParse("gopher://gopher.example/0a%0D%0AQUIT"))
	fmt.Println(errors.Is(err, uri.ErrControl))
	// Output:
	// true
}

func ExampleFTP_URI() {
	u, err := uri.FTP{Host: "ftp.example", CWD: []string{"/etc"}, Name: "a;b"}.URI()
	fmt.Println(u, err)

	_, err = uri.FTP{Host: "ftp example"}.URI()
	fmt.Println(err)
	// Output:
	// ftp://ftp.example/%2Fetc/a%3Bb <nil>
	// malformed URL "ftp://ftp%20example/": space in the decoded host at byte 6
}
