package robots_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/urlget/urlget/crawl/robots"
)

func ExampleRead() {
	rules, err := robots.Read(strings.NewReader("User-agent: *\nDisallow: /private/\nAllow: /private/map\nCrawl-delay: 2\n"), "examplebot")
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"/", "/private/diary", "/private/map"} {
		ok, rule := rules.Allowed(path)
		fmt.Printf("%s %t %q\n", path, ok, rule)
	}
	fmt.Println(rules.Delay)
	// Output:
	// / true ""
	// /private/diary false "Disallow: /private/"
	// /private/map true "Allow: /private/map"
	// 2s
}
