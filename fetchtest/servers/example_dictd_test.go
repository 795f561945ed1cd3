package servers_test

import (
	"fmt"
	"log"
	"net/textproto"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
)

// dictDefine is the client under test.
func dictDefine(addr, word string) ([]string, error) {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, _, err := c.ReadCodeLine(220); err != nil {
		return nil, err
	}
	c.PrintfLine("DEFINE ! %q", word)
	for _, code := range []int{150, 151} {
		if _, _, err := c.ReadCodeLine(code); err != nil {
			return nil, err
		}
	}
	lines, err := c.ReadDotLines()
	if err != nil {
		return nil, err
	}
	_, _, err = c.ReadCodeLine(250)
	return lines, err
}

// A test calls Start(t, options) instead of New and Close.
func Example_dictd() {
	s, err := dictd.New(dictd.Options{Words: map[string]string{"pear": "A sweet fruit.\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(dictDefine(s.Addr, "pear"))
	fmt.Println(dictDefine(s.Addr, "saw"))
	s.Fail(servers.Abort)
	_, err = dictDefine(s.Addr, "pear")
	fmt.Println(err)
	// Output:
	// [A sweet fruit.] <nil>
	// [] 552 "no match"
	// 420 "Server temporarily unavailable"
}
