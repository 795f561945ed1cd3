package cookies_test

import (
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/urlget/urlget/fetch/cookies"
)

// Cookies of an earlier run are sent, and a new one is saved.
func Example() {
	jar := cookies.New()
	if err := jar.Read(strings.NewReader("www.example\tFALSE\t/\tFALSE\t4102444800\tlang\ten\n")); err != nil {
		log.Fatal(err)
	}
	u := &url.URL{Scheme: "http", Host: "www.example", Path: "/"}
	fmt.Println(jar.Cookies(u))
	jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: "12"}}) // by protocols/http
	if err := jar.Write(os.Stdout, true); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [lang=en]
	// # Netscape HTTP Cookie File
	// www.example	FALSE	/	FALSE	4102444800	lang	en
	// www.example	FALSE	/	FALSE	0	session	12
}
