package find_test

import (
	"fmt"

	"github.com/urlget/urlget/fetch/uri/find"
)

func ExampleInText() {
	const mail = `The paper is at http://www.example.org/paper.html, the data under
<URL:ftp://ftp.example.org/pub/
data/>; questions to the group (news:comp.data) or to mailto:joe@example.org.`
	for u, err := range find.InText(mail) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(u)
	}
	// Output:
	// http://www.example.org/paper.html
	// ftp://ftp.example.org/pub/data/
	// news:comp.data
	// mailto:joe@example.org
}
