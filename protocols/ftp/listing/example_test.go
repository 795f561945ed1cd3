package listing_test

import (
	"fmt"
	"time"

	"github.com/urlget/urlget/protocols/ftp/listing"
)

func ExampleParser() {
	p := listing.NewParser(time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC))
	for _, line := range []string{
		"total 2",
		"-rw-r--r--   1 root  wheel   1234 Feb  3 04:05 readme.txt",
		"02-03-20  04:05AM       <DIR>          pub",
		"-rwxrwx---   1 me    group    512 Dec 24 18:00 a name with blanks",
	} {
		if e, ok := p.List(line); ok {
			fmt.Printf("%s %q %d %s\n", e.Kind, e.Name, e.Size, e.ModTime.Format(time.DateOnly))
		}
	}
	// Output:
	// file "readme.txt" 1234 2020-02-03
	// directory "pub" -1 2020-02-03
	// file "a name with blanks" 512 2019-12-24
}
