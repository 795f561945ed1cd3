package servers_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/dictd"
)

func TestDictCommands(t *testing.T) {
	t.Parallel()
	s := dictd.Start(t, dictd.Options{Words: map[string]string{
		"pear": "A fruit.\r\n.sweet\r\n", "pearl": "A gem", `it's a "pear\`: "", "apple": "Another."}})
	const begin, end = "220 test <auth.mime> <1.2@test>\r\n", "221 bye\r\n"
	for command, want := range map[string]string{
		"CLIENT test":                "250 ok\r\n",
		"define ! pear":              "150 1 definitions retrieved\r\n151 \"pear\" tree \"The Tree\"\r\nA fruit.\r\n..sweet\r\n.\r\n250 ok\r\n",
		`DEFINE * 'pearl'`:           "150 1 definitions retrieved\r\n151 \"pearl\" tree \"The Tree\"\r\nA gem\r\n.\r\n250 ok\r\n",
		`DEFINE * "it's a \"pear\\"`: "150 1 definitions retrieved\r\n151 \"it's a \\\"pear\\\\\" tree \"The Tree\"\r\n.\r\n250 ok\r\n",
		"DEFINE * plum":              "552 no match\r\n",
		"MATCH * . pear":             "152 2 matches found\r\ntree \"pear\"\r\ntree \"pearl\"\r\n.\r\n250 ok\r\n",
		"MATCH tree exact pear":      "152 1 matches found\r\ntree \"pear\"\r\n.\r\n250 ok\r\n",
		"MATCH tree prefix x":        "552 no match\r\n",
		"SHOW DB":                    "110 1 databases present\r\ntree \"The Tree\"\r\n.\r\n250 ok\r\n",
		"SHOW":                       "500 what?\r\n",
		"":                           "500 what?\r\n",
	} {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(conn, command+"\r\nQUIT\r\n")
		got, err := io.ReadAll(conn)
		conn.Close()
		if string(got) != begin+want+end || err != nil {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", command, got, err, begin+want+end)
		}
	}
}
