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
	// malformed URL "http://example.com:99999/": port above 65535 at octet 19
}

func ExampleParseLoose() {
	for _, s := range []string{
		" <URL:ftp://ftp.example/pub/\n   file> ",
		"http://example.com/my file",
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

// An encoded slash is part of a directory's name, a bare one divides.
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

// Octets that would end a command line do not come out of a decoder.
func ExampleParseGopher() {
	_, err := uri.ParseGopher(uri.MustParse("gopher://gopher.example/0a%0D%0AQUIT"))
	fmt.Println(errors.Is(err, uri.ErrControl))
	// Output:
	// true
}

func ExampleFTP_URI() {
	fmt.Println(uri.FTP{Host: "ftp.example", CWD: []string{"/etc"}, Name: "a;b"}.URI())
	// Output:
	// ftp://ftp.example/%2Fetc/a%3Bb
}
