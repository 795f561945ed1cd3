// Site writes the documents as web pages, in the look of urlget serve:
//
//	go run ./tools/site -o DIR
//
// The pages need neither scripts nor a server. Terms.html is an index of all sections, flags and names.
package main

import (
	"flag"
	"log"
	"os"
)

func main() {
	out := flag.String("o", "site", "write the pages to `DIR`, which must not exist")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("site: ")
	if flag.NArg() > 0 {
		log.Fatal("unexpected argument ", flag.Arg(0))
	}
	if err := os.Mkdir(*out, 0o777); err != nil {
		log.Fatal(err)
	}
	if err := write(".", *out); err != nil {
		log.Fatal(err)
	}
}
