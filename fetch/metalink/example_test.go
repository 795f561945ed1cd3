package metalink_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/urlget/urlget/fetch/metalink"
)

func ExampleParse() {
	files, err := metalink.Parse(strings.NewReader(`<?xml version="1.0"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="image.iso">
    <size>1048576</size>
    <url priority="2">http://mirror.example/image.iso</url>
    <url priority="1" location="de">ftp://ftp.example/pub/image.iso</url>
  </file>
</metalink>`))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(f.Name, f.Size)
		for _, u := range f.URLs {
			fmt.Println(u)
		}
	}
	// Output:
	// image.iso 1048576
	// ftp://ftp.example/pub/image.iso
	// http://mirror.example/image.iso
}
